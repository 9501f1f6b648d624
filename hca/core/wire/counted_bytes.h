// Counted buffers: bytes that the engine keeps for a process because the process does not take them
// yet. They are counted so that the engine can limit them. The interpreter uses them, on its one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace scela::hca {

// The bytes that the engine keeps for one process, by the reason why they wait. A buffer counts
// with its size and a fixed overhead.
struct Keeping {
  // Frames of other nodes with parts of messages, for queue pairs of the process.
  std::uint64_t requests = 0;
  // Frames of other nodes with answers to the process's requests, and with data that it reads.
  std::uint64_t answers = 0;
  // Bytes that were fetched from one process and are not stored in another yet.
  std::uint64_t moves = 0;
};

// Names a counter of Keeping. A queue pair waits for room for one of them if a limit is reached.
enum class RoomFor : std::uint8_t { requests, answers, moves };

// A buffer that adds its size and kOverhead to a counter while it exists. It shares ownership of
// the counter, which may so outlive the process. It can be moved but not copied.
class CountedBytes {
 public:
  // Makes an empty buffer without a counter, which counts nothing.
  CountedBytes() = default;
  // Makes a buffer of `size` zeros. `counter` must not be null.
  CountedBytes(std::shared_ptr<std::uint64_t> counter, std::size_t size)
      : bytes_(size), counter_(std::move(counter)), counted_(size + kOverhead) {
    *counter_ += counted_;
  }
  // Makes a copy of `bytes`. `counter` must not be null.
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

  // Return the buffer's bytes; valid until it is moved or destroyed.
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }
  bool empty() const { return bytes_.empty(); }

 private:
  // The bytes that each buffer counts in addition: a small frame has a cost too, that of its entry
  // in a queue.
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
