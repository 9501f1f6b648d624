// Counted buffers: bytes that the engine keeps for a process that does not take them yet, counted
// so that they can be bounded. The interpreter's one thread uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace scela::hca {

// The bytes kept for one process and its queue pairs, by reason.
struct Keeping {
  std::uint64_t requests = 0;  // frames with parts of messages
  std::uint64_t answers = 0;   // frames with answers and read data
  std::uint64_t moves = 0;     // bytes fetched and not stored yet
};

// Names a counter of Keeping, for steps that wait until fewer bytes are kept.
enum class RoomFor : std::uint8_t { requests, answers, moves };

// A buffer that adds its size to a counter while it exists; it shares ownership of the counter.
class CountedBytes {
 public:
  CountedBytes() = default;
  CountedBytes(std::shared_ptr<std::uint64_t> counter, std::size_t size)
      : bytes_(size), counter_(std::move(counter)), counted_(size + kOverhead) {
    *counter_ += counted_;
  }
  CountedBytes(std::shared_ptr<std::uint64_t> counter, std::span<const std::byte> bytes)
      : bytes_(bytes.begin(), bytes.end()),
        counter_(std::move(counter)),
        counted_(bytes.size() + kOverhead) {
    *counter_ += counted_;
  }
  ~CountedBytes() {
    if (counter_) *counter_ -= counted_;
  }
  CountedBytes(CountedBytes&& other) noexcept { swap(other); }
  CountedBytes& operator=(CountedBytes&& other) noexcept {
    CountedBytes gone;
    gone.swap(other);
    swap(gone);
    return *this;
  }

  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }
  bool empty() const { return bytes_.empty(); }

 private:
  // The cost of a frame's place in its queue: small frames are not free.
  static constexpr std::uint64_t kOverhead = 128;

  void swap(CountedBytes& other) noexcept {
    bytes_.swap(other.bytes_);
    counter_.swap(other.counter_);
    std::swap(counted_, other.counted_);
  }

  std::vector<std::byte> bytes_;
  std::shared_ptr<std::uint64_t> counter_;
  std::uint64_t counted_ = 0;
};

}  // namespace scela::hca
