// Ranks cut into groups of ranks that follow each other. The number of groups is a power of the
// radix, so algorithms made for such counts serve all counts. The object does not change, and any
// thread may read it.
#pragma once

#include <cstdint>

namespace scela::collectives {

// There are as many groups as the largest power of `radix` that is not above the number of ranks. A
// group has from 1 to `radix` members. All have the same size, or some have one member more.
class Groups {
 public:
  Groups(int ranks, std::uint32_t radix);

  int count() const { return count_; }
  int rounds() const { return rounds_; }  // radix to this power is count()
  int of(int rank) const;
  // Returns the group's first rank, or the number of ranks for group count().
  int first(int group) const;
  int size(int group) const { return first(group + 1) - first(group); }

 private:
  int ranks_;
  int count_ = 1;
  int rounds_ = 0;
};

}  // namespace scela::collectives
