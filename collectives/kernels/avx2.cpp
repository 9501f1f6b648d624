#define SCELA_KERNELS_LEVEL avx2
#include "collectives/kernels/levels.h"
#include "collectives/kernels/loops.h"

namespace scela::collectives {

Kernels avx2_kernels(Op op, Type type) {
  return avx2::find_kernels(op, type);
}

}  // namespace scela::collectives
