// The list of a rank that has a place in a broadcast's tree. The algorithms of this folder use it.
// bcast_down() is pure, and any thread may call it.
#pragma once

#include <vector>

#include "collectives/core/shape.h"

namespace scela::collectives {

// The place of one rank in a broadcast's tree. "Low" edges belong to the levels that are split off
// (Shape::split).
struct Downwards {
  int from = -1;           // rank of the parent; -1: this is the root
  std::vector<int> first;  // children by other edges, in order
  std::vector<int> low;    // children by low edges, sent to last
  bool is_low = false;     // the edge to the parent is low
  bool is_split = false;   // the tree has low edges
};
// Returns the list of a rank at this place: it receives each segment from its parent and sends it
// to its children. `shape` says the number of segments.
TaskList bcast_down(const Downwards& way, const Shape& shape);

}  // namespace scela::collectives
