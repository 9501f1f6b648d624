// Exclusive scans: rank r gets x0 op ... op x(r-1), rank 0 nothing: its output is left as it is,
// and has no blocks where it is not the input too. In order, so for any reduction.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// As scan_chain, scan_recursive_doubling: a rank keeps what it got, and passes it on with its own.
TaskList exscan_chain(const Shape& shape, int rank);
TaskList exscan_recursive_doubling(const Shape& shape, int rank);

}  // namespace scela::collectives
