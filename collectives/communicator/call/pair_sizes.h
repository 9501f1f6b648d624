// The message sizes that two ranks know, for checked calls of v forms of which no rank knows all
// sizes (gatherv, scatterv, alltoallv). The size of the message that one rank sends must be the
// size that the other expects. checking.h uses it. The object does not change once made. Sizes are
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/communicator/call/arguments.h"
#include "collectives/communicator/call/collective.h"
#include "collectives/executors/factory.h"

namespace scela::collectives {

// The sizes of one rank's messages of a call.
class PairSizes {
 public:
  // Returns the sizes of the messages of the rank `rank` of `ranks`. They are empty if the call is
  // refused or has another form.
  static PairSizes of(const Collective::Inside& call, const Arguments& arguments, int rank,
                      std::size_t ranks);

  // Returns the sum of hashes over the messages that this rank, `rank`, sends. If the sums of
  // hash_of_sent() and of hash_of_received() over all ranks are equal, every message is almost
  // certainly expected with its size.
  std::uint64_t hash_of_sent(int rank) const;
  // Returns the sum of hashes over the messages that this rank, `rank`, expects.
  std::uint64_t hash_of_received(int rank) const;

  // Returns the number of 64-bit words in which a rank tells its sizes to `ranks` ranks.
  static std::size_t words(std::size_t ranks) { return 2 * ranks; }
  // Writes this rank's words: the sizes that it sends, by receiver, then those that it expects, by
  // sender.
  void write(std::span<std::uint64_t> words) const;

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // says that there is no message
  friend std::optional<Fault> judge_sizes(std::span<const std::uint64_t>, std::size_t);

  std::vector<std::uint64_t> sent_;      // by receiver; empty: no such form
  std::vector<std::uint64_t> received_;  // by sender
};

// Compares the words of all ranks, words(ranks) for each rank, by rank. Returns a fault that names
// the rank with the largest share of differing messages, and its first message that differs.
// Returns std::nullopt if all messages are expected with the sizes with which they are sent.
std::optional<Fault> judge_sizes(std::span<const std::uint64_t> words, std::size_t ranks);

}  // namespace scela::collectives
