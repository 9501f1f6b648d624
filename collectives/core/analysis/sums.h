// Values of the symbolic executor (symbolic.h): the ranks' contributions of which a block's
// contents are made, and in which order. An object belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace scela::collectives {

// Gives numbers to sequences of ranks, so that values are small and equal ones have equal numbers.
// kNothing is the number of no value, and rank + 1 that of the rank's contribution alone.
class Sums {
 public:
  static constexpr std::uint32_t kNothing = 0;

  // Ranks are 0 to `ranks` - 1. If `commutes`, sequences that are equal after sorting have the same
  // number.
  Sums(int ranks, bool commutes);

  // Returns the number of the contribution of this rank alone.
  static std::uint32_t of_rank(int rank) { return static_cast<std::uint32_t>(rank) + 1; }
  // Returns the number of the contributions of the ranks first, first + 1, ..., last, in order.
  std::uint32_t of_run(int first, int last);
  // Returns the number of the value left op right. Neither may be kNothing.
  std::uint32_t combine(std::uint32_t left, std::uint32_t right);
  // Returns a text for people such as "ranks 0-3, 7, 5" for a number.
  std::string text(std::uint32_t sum) const;

 private:
  // The consecutive ranks from `from` to `to`. A sequence of ranks is a vector of such runs. It
  // joins all runs that can be joined, so that equal sequences are equal as vectors too.
  struct Run {
    int from = 0;
    int to = 0;
    friend auto operator<=>(const Run&, const Run&) = default;
  };
  using Runs = std::vector<Run>;

  // Returns the runs of a number, which must not be kNothing.
  Runs runs_of(std::uint32_t sum) const;
  // Returns the number of these runs. They get a new number if they have none.
  std::uint32_t number_of(Runs runs);

  std::uint32_t ranks_;
  bool commutes_;
  std::vector<Runs> longer_;  // of the numbers from ranks_ + 1 on
  std::map<Runs, std::uint32_t> numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t> combined_;  // keyed by left and right
};

}  // namespace scela::collectives
