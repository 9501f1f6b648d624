// A RequestMark makes the wr_id of each send that DeviceTasks posts to a device, and knows such a
// wr_id again. It is a value; any thread may use it.
#pragma once

#include <cstdint>

namespace scela::hca::progress {

class RequestMark {
 public:
  // The upper half of `mark` marks; the program must not use it.
  explicit RequestMark(std::uint64_t mark) : mark_(mark & kMark) {}
  // Returns the wr_id for the entry of a send queue with this serial.
  std::uint64_t wr_id(std::uint64_t serial) const { return mark_ | (serial & ~kMark); }
  bool is_on(std::uint64_t wr_id) const { return (wr_id & kMark) == mark_; }

 private:
  static constexpr std::uint64_t kMark = ~0ULL << 32;
  std::uint64_t mark_;
};

}  // namespace scela::hca::progress
