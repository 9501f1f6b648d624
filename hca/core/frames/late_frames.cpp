#include "hca/core/frames/late_frames.h"

#include <algorithm>
#include <iterator>

namespace scela::hca {

void LateFrames::add(Moment due, std::uint32_t node, std::span<const std::byte> header,
                     std::span<const std::byte> payload) {
  Frame kept{node, {}};
  kept.bytes.reserve(header.size() + payload.size());
  std::ranges::copy(header, std::back_inserter(kept.bytes));
  std::ranges::copy(payload, std::back_inserter(kept.bytes));
  add(due, std::move(kept));
}

LateFrames::Frame LateFrames::next_due() {
  Frame first = std::move(frames_.begin()->second);
  frames_.erase(frames_.begin());
  return first;
}

std::optional<Moment> LateFrames::deadline() const {
  return frames_.empty() ? std::nullopt : std::optional(frames_.begin()->first);
}

}  // namespace scela::hca
