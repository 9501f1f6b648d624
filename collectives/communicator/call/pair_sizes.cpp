#include "collectives/communicator/call/pair_sizes.h"

#include <algorithm>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {

namespace {

// Returns the hash of one message, by the last steps of splitmix64. Sums of these hashes differ
// unless the messages are equal.
std::uint64_t hash_of(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  std::uint64_t hash = bytes;
  for (const std::uint64_t part : {from, to}) {
    hash += (part + 1) * 0x9e3779b97f4a7c15;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
    hash ^= hash >> 31;
  }
  return hash;
}

}  // namespace

PairSizes PairSizes::of(const Collective::Inside& call, const Arguments& arguments, int rank,
                        std::size_t ranks) {
  PairSizes sizes;
  const bool gathers = call.operation == Operation::gather;
  const bool scatters = call.operation == Operation::scatter;
  const bool exchanges = call.operation == Operation::alltoall;
  if (!call.has_parts || !arguments.status.ok() || !(gathers || scatters || exchanges))
    return sizes;
  sizes.sent_.assign(ranks, kNone);
  sizes.received_.assign(ranks, kNone);
  const auto root = static_cast<std::size_t>(call.root);
  const auto own = static_cast<std::size_t>(rank);
  if (!exchanges && own != root) {
    (gathers ? sizes.sent_ : sizes.received_)[root] =
        gathers ? call.input.bytes() : call.output.bytes();
    return sizes;
  }
  const BlockSizes& output = arguments.output;
  const BlockSizes& input = exchanges && arguments.in_place ? output : arguments.input;
  for (std::uint32_t other = 0; other < ranks; ++other) {
    if (!exchanges && other == own) continue;
    if (!gathers) sizes.sent_[other] = input.size(other);
    if (!scatters) sizes.received_[other] = output.size(other);
  }
  return sizes;
}

std::uint64_t PairSizes::hash_of_sent(int rank) const {
  std::uint64_t sum = 0;
  for (std::size_t to = 0; to < sent_.size(); ++to)
    if (sent_[to] != kNone) sum += hash_of(static_cast<std::uint64_t>(rank), to, sent_[to]);
  return sum;
}

std::uint64_t PairSizes::hash_of_received(int rank) const {
  std::uint64_t sum = 0;
  for (std::size_t from = 0; from < received_.size(); ++from)
    if (received_[from] != kNone)
      sum += hash_of(from, static_cast<std::uint64_t>(rank), received_[from]);
  return sum;
}

void PairSizes::write(std::span<std::uint64_t> words) const {
  std::ranges::fill(words, kNone);
  std::ranges::copy(sent_, words.begin());
  std::ranges::copy(received_, words.begin() + static_cast<std::ptrdiff_t>(words.size() / 2));
}

std::optional<Fault> judge_sizes(std::span<const std::uint64_t> words, std::size_t ranks) {
  const std::size_t each = PairSizes::words(ranks);
  struct Tally {
    std::uint64_t differ = 0;
    std::uint64_t all = 0;
  };
  std::vector<Tally> tallies(ranks);
  std::vector<std::pair<std::size_t, std::size_t>> differ;  // from, to
  const auto sent = [&](std::size_t from, std::size_t to) { return words[from * each + to]; };
  const auto expected = [&](std::size_t from, std::size_t to) {
    return words[to * each + ranks + from];
  };
  for (std::size_t from = 0; from < ranks; ++from)
    for (std::size_t to = 0; to < ranks; ++to) {
      const bool none =
          sent(from, to) == PairSizes::kNone && expected(from, to) == PairSizes::kNone;
      if (none) continue;
      const bool differs = sent(from, to) != expected(from, to);
      for (const std::size_t rank : {from, to}) {
        ++tallies[rank].all;
        if (differs) ++tallies[rank].differ;
      }
      if (differs) differ.emplace_back(from, to);
    }
  if (differ.empty()) return std::nullopt;
  // Takes the rank with the largest share of differing messages. If several have it, the sender of
  // the first such message comes before the others.
  std::size_t worst = differ.front().first;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (tallies[rank].differ * tallies[worst].all > tallies[worst].differ * tallies[rank].all)
      worst = rank;
  const auto [from, to] = *std::ranges::find_if(
      differ, [&](const auto& pair) { return pair.first == worst || pair.second == worst; });
  Fault fault;
  fault.code = FaultCode::mismatch;
  fault.rank = static_cast<int>(worst);
  fault.words = cat("rank ", worst, ": it ",
                    worst == from ? cat("sends ", sent(from, to), " bytes to rank ", to,
                                        ", which expects ", expected(from, to))
                                  : cat("expects ", expected(from, to), " bytes of rank ", from,
                                        ", which sends ", sent(from, to)),
                    differ.size() == 1 ? std::string()
                                       : cat(", and ", differ.size() - 1,
                                             " more messages are not expected as they are sent"));
  return fault;
}

}  // namespace scela::collectives
