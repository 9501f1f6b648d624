// Ranks cut into groups of ranks that follow each other: as many as a power of the radix, so that
// algorithms made for such counts serve all counts.
#pragma once

#include <cstdint>

namespace scela::collectives {

// As many groups as the largest power of `radix` that is not above the ranks. They have as many
// members as each other, or some one more: from 1 to `radix` in all.
class Groups {
 public:
  Groups(int ranks, std::uint32_t radix);

  int count() const { return count_; }
  int rounds() const { return rounds_; }  // radix to the power of which is count()
  int of(int rank) const;
  // The group's first rank; of count(): the number of ranks.
  int first(int group) const;
  int size(int group) const { return first(group + 1) - first(group); }

 private:
  int ranks_;
  int count_ = 1;
  int rounds_ = 0;
};

}  // namespace scela::collectives
