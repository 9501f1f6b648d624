// Datagrams that are late on purpose (Faults::ud_late), kept as frames until they arrive.
//
// The sender of datagrams adds them; the engine sends or delivers those that are due. The
// interpreter's one thread uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hca/core/model/engine.h"

namespace scela::hca {

// The late frames, in the order in which they are due. Moments are nanoseconds of the engine's
// clock.
class LateFrames {
 public:
  // The range of the delay in nanoseconds.
  static constexpr Moment kLeastDelay = 100'000, kMaxDelay = 2'000'000;

  // A whole frame, header and payload.
  struct Frame {
    std::uint32_t node = 0;  // destination; 0: this node
    std::vector<std::byte> bytes;
  };

  // Returns true if so many are late that no further datagram may be made late.
  bool is_full() const { return frames_.size() >= kMaxFrames; }
  // Adds a frame that arrives at the time `due`.
  void add(Moment due, Frame frame) { frames_.emplace(due, std::move(frame)); }
  // Adds a frame to `node` (0: this node) of a header and its payload, which are copied.
  void add(Moment due, std::uint32_t node, std::span<const std::byte> header,
           std::span<const std::byte> payload);
  // Returns true if a frame is due at the time `now`.
  bool has_due(Moment now) const { return !frames_.empty() && frames_.begin()->first <= now; }
  // Removes the frame that is due first and returns it. has_due() must be true.
  Frame next_due();
  // Returns when the first frame is due, or std::nullopt if there is none.
  std::optional<Moment> deadline() const;

 private:
  static constexpr std::size_t kMaxFrames = 1024;
  std::multimap<Moment, Frame> frames_;
};

}  // namespace scela::hca
