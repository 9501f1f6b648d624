#include "collectives/algorithms/groups.h"

namespace scela::collectives {

Groups::Groups(int ranks, std::uint32_t radix) : ranks_(ranks) {
  for (std::int64_t next = radix; next <= ranks; next *= radix) {
    count_ = static_cast<int>(next);
    ++rounds_;
  }
}

int Groups::first(int group) const {
  return static_cast<int>(std::int64_t{group} * ranks_ / count_);
}

int Groups::of(int rank) const {
  int group = static_cast<int>(std::int64_t{rank} * count_ / ranks_);
  while (group + 1 < count_ && first(group + 1) <= rank)
    ++group;
  return group;
}

}  // namespace scela::collectives
