// A tree of leaders, each of which is the top of a tree of its node. A segment is passed on as it
// comes, to other nodes first. So the phases of section 4.4 of the offload thesis overlap.
#include "collectives/algorithms/bcast/bcast.h"
#include "collectives/algorithms/bcast/down.h"
#include "collectives/algorithms/hierarchy.h"

namespace scela::collectives {

TaskList bcast_hierarchical(const Shape& shape, int rank) {
  const Branch own = branch(Hierarchy(shape, shape.root), shape.root, rank);
  Downwards way;
  way.from = own.parent;
  way.first = own.children;
  return bcast_down(way, shape);
}

}  // namespace scela::collectives
