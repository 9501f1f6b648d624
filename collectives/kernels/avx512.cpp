#define SCELA_KERNELS_LEVEL avx512
#include "collectives/kernels/levels.h"
#include "collectives/kernels/loops.h"

namespace scela::collectives {

Kernels avx512_kernels(Op op, Type type) {
  return avx512::find_kernels(op, type);
}

}  // namespace scela::collectives
