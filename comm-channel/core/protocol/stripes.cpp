#include "comm-channel/core/protocol/stripes.h"

#include <algorithm>

namespace scela::channel {
namespace {

// Shares begin on page boundaries if the message does.
constexpr std::uint64_t kGrain = 4096;

bool has(unsigned set, std::size_t port) {
  return (set >> port & 1) != 0;
}

}  // namespace

// Returns how many bytes each port has carried after these bytes, if ports that have carried more
// than that carry none of them.
std::uint64_t Stripes::after(std::uint64_t bytes, unsigned usable) const {
  std::array<std::uint64_t, kMaxPorts> sorted{};
  std::size_t count = 0;
  for (std::size_t port = 0; port < kMaxPorts; ++port)
    if (has(usable, port)) sorted[count++] = went_[port];
  std::sort(sorted.begin(), sorted.begin() + count);
  std::uint64_t sum = bytes, level = bytes;
  for (std::size_t i = 0; i < count; ++i) {
    sum += sorted[i];
    level = (sum + i) / (i + 1);
    if (i + 1 < count && level <= sorted[i + 1]) break;
  }
  return level;
}

Stripes::Shares Stripes::cut(std::uint64_t bytes, unsigned usable) {
  std::uint64_t most = 0;
  for (const std::uint64_t went : went_)
    most = std::max(most, went);
  for (std::uint64_t& went : went_)
    if (most - went > kMaxOwed) went = most - kMaxOwed;
  // The port that has carried least is chosen; of equal ports, the next in turn.
  std::size_t least = kMaxPorts;
  for (std::size_t i = 1; i <= kMaxPorts; ++i) {
    const std::size_t port = (last_ + i) % kMaxPorts;
    if (has(usable, port) && (least == kMaxPorts || went_[port] < went_[least])) least = port;
  }
  Shares shares{};
  std::uint64_t left = bytes;
  if (bytes >= kLeastCut) {
    const std::uint64_t level = after(bytes, usable);
    for (std::size_t port = 0; port < kMaxPorts; ++port) {
      if (!has(usable, port) || port == least || went_[port] >= level) continue;
      const std::uint64_t share = (level - went_[port]) / kGrain * kGrain;
      if (share >= kLeastShare) shares[port] = std::min(share, left);
      left -= shares[port];
    }
  }
  shares[least] = left;
  last_ = least;
  return shares;
}

}  // namespace scela::channel
