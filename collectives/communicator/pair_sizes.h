// Where calls are checked: the sizes of messages that two ranks know of, of v forms whose sizes no
// rank knows all of (gatherv, scatterv, alltoallv). What one sends is what the other expects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/communicator/arguments.h"
#include "collectives/communicator/collective.h"
#include "collectives/executors/factory.h"

namespace scela::collectives {

class PairSizes {
 public:
  // Of a call of another form, or one that is refused: nothing.
  static PairSizes of(const Collective::Inside& call, const Arguments& arguments, int rank,
                      std::size_t ranks);

  // Sums over this rank's messages: if those of all ranks' `sent` and `received` are equal, every
  // message is expected as it is sent, as good as surely.
  std::uint64_t hash_of_sent(int rank) const;
  std::uint64_t hash_of_received(int rank) const;

  // As ranks tell each other: so many numbers each.
  static std::size_t words(std::size_t ranks) { return 2 * ranks; }
  void write(std::span<std::uint64_t> words) const;

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // no message
  friend std::optional<Fault> judge_sizes(std::span<const std::uint64_t>, std::size_t);

  std::vector<std::uint64_t> sent_;      // by receiver; empty: of no such form
  std::vector<std::uint64_t> received_;  // by sender
};

// Of all ranks' words: the rank most of whose messages differ, and the first that does. None: all
// are expected as they are sent.
std::optional<Fault> judge_sizes(std::span<const std::uint64_t> words, std::size_t ranks);

}  // namespace scela::collectives
