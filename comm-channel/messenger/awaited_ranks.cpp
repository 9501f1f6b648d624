#include "comm-channel/messenger/awaited_ranks.h"

namespace scela::channel {

std::vector<int> AwaitedRanks::next_unconnected(const NetworkPeers& network) {
  constexpr std::size_t kMaxAsked = 32;
  const auto size = static_cast<std::size_t>(peers_.size());
  std::vector<bool> awaited(size, false);
  const auto add = [&](int rank) {
    if (rank >= 0) awaited[static_cast<std::size_t>(rank)] = true;
  };
  add(probed_);
  for (const Posted* one = matcher_.first_receive(); one != nullptr; one = Matcher::after(*one))
    add(one->pattern.source);
  std::vector<int> ranks;
  for (std::size_t i = 0; i < size && ranks.size() < kMaxAsked; ++i) {
    looked_at_ = (looked_at_ + 1) % size;
    const int rank = static_cast<int>(looked_at_);
    if (awaited[looked_at_] && !peers_.is_local(rank) && !peers_.has_ended(rank) &&
        rank != peers_.own_rank() && !network.is_connected(rank))
      ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace scela::channel
