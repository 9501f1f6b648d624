// The three forms of the loops, each compiled by a file of its own. kernels.cpp picks one. The
// functions are pure, and any thread may call them.
#pragma once

#include "collectives/kernels/kernels.h"

namespace scela::collectives {

// Each returns the kernels of its level. Both members are null if the operation is not defined on
// the type (kernels.h).
Kernels plain_kernels(Op op, Type type);
Kernels avx2_kernels(Op op, Type type);
Kernels avx512_kernels(Op op, Type type);

}  // namespace scela::collectives
