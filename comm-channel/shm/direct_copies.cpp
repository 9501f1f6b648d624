#include "comm-channel/shm/direct_copies.h"

#include <algorithm>
#include <utility>

namespace scela::channel::shm {

// Tries the next rank that is still there. A rank that has left or ended cannot be read, which says
// nothing about the others.
void DirectCopies::try_one() {
  state_ = State::work;
  const std::uint32_t ranks = segment_.shape().ranks;
  for (std::uint32_t i = 1; i < std::max(ranks, 2u); ++i) {
    const std::uint32_t peer = (self_ + i) % ranks;
    Copied probed = processes_.probe(peer);
    const bool left = segment_.member(peer).joined.load(std::memory_order_acquire) == kLeft;
    if (!probed && (left || processes_.has_ended(peer))) continue;
    if (!probed) state_ = State::refused;
    why_not_ = std::move(probed.error);
    return;
  }
}

}  // namespace scela::channel::shm
