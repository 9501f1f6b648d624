#define SCELA_KERNELS_LEVEL plain
#include "collectives/kernels/levels.h"
#include "collectives/kernels/loops.h"

namespace scela::collectives {

Kernels plain_kernels(Op op, Type type) {
  return plain::find_kernels(op, type);
}

}  // namespace scela::collectives
