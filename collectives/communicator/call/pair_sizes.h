// The message sizes that two ranks know, for checked calls of v forms of which no rank knows all
// sizes (gatherv, scatterv, alltoallv). The size that one rank sends must be the size that the
// other expects. checking.h uses it. The object does not change once made.
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

class PairSizes {
 public:
  // Returns the sizes of this rank's messages. They are empty if the call is refused or has another
  // form.
  static PairSizes of(const Collective::Inside& call, const Arguments& arguments, int rank,
                      std::size_t ranks);

  // These functions return sums of hashes over this rank's messages. If the sums of `sent` and
  // `received` over all ranks are equal, every message is almost certainly expected as it is sent.
  std::uint64_t hash_of_sent(int rank) const;
  std::uint64_t hash_of_received(int rank) const;

  // The form in which ranks exchange sizes: words() numbers for each rank.
  static std::size_t words(std::size_t ranks) { return 2 * ranks; }
  // Writes this rank's words: the sizes that it sends, by receiver, then those that it expects, by
  // sender.
  void write(std::span<std::uint64_t> words) const;

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // no message
  friend std::optional<Fault> judge_sizes(std::span<const std::uint64_t>, std::size_t);

  std::vector<std::uint64_t> sent_;      // by receiver; empty: no such form
  std::vector<std::uint64_t> received_;  // by sender
};

// Judges the words of all ranks. The fault names the rank with the largest share of differing
// messages, and its first message that differs. Returns std::nullopt if all messages are expected
// as they are sent.
std::optional<Fault> judge_sizes(std::span<const std::uint64_t> words, std::size_t ranks);

}  // namespace scela::collectives
