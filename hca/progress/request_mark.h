// A RequestMark makes the wr_id of each send that DeviceTasks posts to a device, and knows such a
// wr_id again. The upper 32 bits are the mark, and the lower ones a part of the request's serial,
// its number in its queue. It is a value; any thread may use it.
#pragma once

#include <cstdint>

namespace scela::hca::progress {

// The mark of one DeviceTasks.
class RequestMark {
 public:
  // The upper half of `mark` is the mark; the program must not use it in a wr_id.
  explicit RequestMark(std::uint64_t mark) : mark_(mark & kMark) {}
  // Returns the wr_id for the entry of a send queue with this serial.
  std::uint64_t wr_id(std::uint64_t serial) const { return mark_ | (serial & ~kMark); }
  // Returns true if this object has made the wr_id.
  bool is_on(std::uint64_t wr_id) const { return (wr_id & kMark) == mark_; }

 private:
  static constexpr std::uint64_t kMark = ~0ULL << 32;
  std::uint64_t mark_;
};

}  // namespace scela::hca::progress
