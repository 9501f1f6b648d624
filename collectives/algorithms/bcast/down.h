// What a rank of a broadcast does that has a place in a tree.
#pragma once

#include <vector>

#include "collectives/core/shape.h"

namespace scela::collectives {

struct Downwards {
  int from = -1;           // who is above; none: the root
  std::vector<int> first;  // who is below, in that order; those of the levels that are split off
  std::vector<int> low;    // come behind
  bool is_low = false;     // the way from above is of such a level
  bool is_split = false;
};
TaskList bcast_down(const Downwards& way, const Shape& shape);

}  // namespace scela::collectives
