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
  // Cuts `ranks` ranks, numbered from 0, for this radix (at least 2).
  Groups(int ranks, std::uint32_t radix);

  // Returns the number of groups. Groups are numbered from 0.
  int count() const { return count_; }
  // Returns the exponent of the radix that gives count().
  int rounds() const { return rounds_; }
  // Returns the group of a rank.
  int of(int rank) const;
  // Returns the group's first rank. For the group count(), returns the number of ranks.
  int first(int group) const;
  // Returns the number of ranks of the group.
  int size(int group) const { return first(group + 1) - first(group); }

 private:
  int ranks_;
  int count_ = 1;
  int rounds_ = 0;
};

}  // namespace scela::collectives
