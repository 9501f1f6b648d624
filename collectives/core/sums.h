// Values of the symbolic executor: which ranks' contributions they are, in which order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace scela::collectives {

// Numbers for sequences of ranks, so that values are small and equal ones have equal numbers.
// kNothing is no value; `rank` + 1 is that rank's contribution alone.
class Sums {
 public:
  static constexpr std::uint32_t kNothing = 0;

  // Where `commutes`, sequences that are equal after sorting are the same.
  Sums(int ranks, bool commutes);

  static std::uint32_t of_rank(int rank) { return static_cast<std::uint32_t>(rank) + 1; }
  // The ranks first ... last, in order, each once.
  std::uint32_t of_run(int first, int last);
  // left op right, neither of which is nothing.
  std::uint32_t combine(std::uint32_t left, std::uint32_t right);
  // "ranks 0-3, 7, 5".
  std::string text(std::uint32_t sum) const;

 private:
  // Ranks from ... to, one after the other. A sequence joins what can be joined, so that equal ones
  // are equal as vectors too.
  struct Run {
    int from = 0;
    int to = 0;
    friend auto operator<=>(const Run&, const Run&) = default;
  };
  using Runs = std::vector<Run>;

  Runs runs_of(std::uint32_t sum) const;
  std::uint32_t number_of(Runs runs);

  std::uint32_t ranks_;
  bool commutes_;
  std::vector<Runs> longer_;  // numbers ranks_ + 1 and up
  std::map<Runs, std::uint32_t> numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t> combined_;  // by left and right
};

}  // namespace scela::collectives
