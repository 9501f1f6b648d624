// The list of a rank that has a place in a broadcast's tree. The algorithms of this folder use it.
// bcast_down() is pure, and any thread may call it.
#pragma once

#include <vector>

#include "collectives/core/shape.h"

namespace scela::collectives {

// The place of one rank in the tree. Levels are split off as in Shape::split.
struct Downwards {
  int from = -1;           // the parent; -1: this is the root
  std::vector<int> first;  // children, in the order of sending
  std::vector<int> low;    // children on split levels, sent to last
  bool is_low = false;     // the edge to the parent is split off
  bool is_split = false;   // some levels of the tree are split off
};
TaskList bcast_down(const Downwards& way, const Shape& shape);

}  // namespace scela::collectives
