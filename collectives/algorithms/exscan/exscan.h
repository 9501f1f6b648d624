// Exclusive scan algorithms: rank r gets x0 op ... op x(r-1). Rank 0 gets nothing: its output is
// left as it is, and has no blocks unless it is the input too. Operands stay in order, so the
// algorithms serve any reduction. The functions are pure, and the registry lists them.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Work as scan_chain and scan_recursive_doubling, but a rank keeps what it got, and passes it on
// combined with its own contribution.
TaskList exscan_chain(const Shape& shape, int rank);
TaskList exscan_recursive_doubling(const Shape& shape, int rank);

}  // namespace scela::collectives
