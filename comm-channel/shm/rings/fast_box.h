// A small ring from one sender to one receiver. A message of up to 24 bytes is one cache line, and
// one store publishes it. Longer messages have their bytes in a second ring beside it.
//
// The receiver gives a box to a sender, and takes it back when others send more. The sender is not
// told, but looks: it says that it writes, then looks whether the box is still its own. The
// receiver says that the box is not, makes all stores visible (doorbell.h), then looks whether the
// sender writes. So a sender that never sends again does not keep its box, and one that sends pays
// no fence.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "comm-channel/shm/rings/line.h"

namespace scela::channel::shm {

// The location of a box, as either side has it.
template <template <class> class A>
struct Box {
  BoxControl<A>* control = nullptr;
  Line<A>* lines = nullptr;
  std::byte* bytes = nullptr;
  std::uint32_t line_count = 0;  // powers of two
  std::uint32_t byte_count = 0;

  Line<A>& line(std::uint64_t at) const { return lines[at & (line_count - 1)]; }
  std::byte* place(std::uint64_t at) const { return bytes + (at & (byte_count - 1)); }
  // A line never holds the same stamp in two turns, and no stamp is 0.
  std::uint64_t stamp(std::uint64_t at) const {
    return static_cast<std::uint32_t>(at / line_count + 1);
  }
};

// Returns where the next payload of `length` bytes begins, if the ring of `ring` bytes was written
// up to `at`. Both are counted from the first byte ever written; a payload does not wrap around.
inline std::uint64_t begin_of(std::uint64_t at, std::uint32_t length, std::uint32_t ring) {
  const std::uint64_t rest = ring - (at & (ring - 1));
  return length <= rest ? at : at + rest;
}
// Returns where the next payload may begin: whole cache lines behind `begin`.
inline std::uint64_t end_of(std::uint64_t begin, std::uint32_t length) {
  return begin + (length + kLineBytes - 1) / kLineBytes * kLineBytes;
}

// The sender's end of a box. Only that rank calls it.
template <template <class> class A>
class BoxWriter {
 public:
  BoxWriter() = default;
  // Begins to use a box that the sender has seen to be given to it.
  explicit BoxWriter(const Box<A>& box)
      : box_(box),
        at_(box.control->consumed_lines.load(std::memory_order_relaxed)),
        bytes_at_(box.control->consumed_bytes.load(std::memory_order_relaxed)),
        lines_end_(at_ + box.line_count),
        bytes_end_(bytes_at_ + box.byte_count) {}

  // Announces that this rank is about to write to the box, and returns whether the box is still its
  // own. `writing` is the sender's own word (Mailbox), which gets the value `place`, not 0. `fence`
  // is that of ring() (doorbell.h). If it returns true, leave() must follow.
  static bool enter(const Box<A>& box, A<std::uint32_t>& writing, std::uint32_t place,
                    std::uint32_t self, bool fence) {
    const auto& given = box.control->given;
    if (fence) {
      writing.exchange(place, std::memory_order_seq_cst);
      if (given.load(std::memory_order_seq_cst) == self + 1) return true;
    } else {
      writing.store(place, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (given.load(std::memory_order_relaxed) == self + 1) return true;
    }
    leave(writing);
    return false;
  }
  // Ends what enter() has begun: this rank does not write any more.
  static void leave(A<std::uint32_t>& writing) { writing.store(0, std::memory_order_release); }
  const Box<A>& box() const { return box_; }
  // Returns whether the box is still given to the rank.
  bool is_of(std::uint32_t self) const {
    return box_.control->given.load(std::memory_order_acquire) == self + 1;
  }

  // Writes a message with this number. Returns false if there is no room.
  bool write(std::uint32_t number, const Header& header, std::span<const std::byte> payload) {
    if (at_ == lines_end_ && !look_for_room(payload.size())) return false;
    std::byte* elsewhere = nullptr;
    if (payload.size() > kInline) {
      const auto length = static_cast<std::uint32_t>(payload.size());
      const std::uint64_t begin = begin_of(bytes_at_, length, box_.byte_count);
      const std::uint64_t end = end_of(begin, length);
      if (end > bytes_end_ && !look_for_room(payload.size())) return false;
      elsewhere = box_.place(begin);
      bytes_at_ = end;
    }
    Line<A>& line = box_.line(at_);
    fill(line, elsewhere, header, payload);
    line.word.store(box_.stamp(at_) << 32 | number, std::memory_order_release);
    ++at_;
    return true;
  }

  // Returns whether a message of this size could be written, as far as the receiver has told.
  bool look_for_room(std::size_t size) {
    lines_end_ = box_.control->consumed_lines.load(std::memory_order_acquire) + box_.line_count;
    bytes_end_ = box_.control->consumed_bytes.load(std::memory_order_acquire) + box_.byte_count;
    const auto length = static_cast<std::uint32_t>(size);
    return at_ != lines_end_ &&
           (size <= kInline ||
            end_of(begin_of(bytes_at_, length, box_.byte_count), length) <= bytes_end_);
  }

 private:
  Box<A> box_;
  std::uint64_t at_ = 0, bytes_at_ = 0;
  std::uint64_t lines_end_ = 0, bytes_end_ = 0;
};

// The receiver's end of a box. Only that rank calls it.
template <template <class> class A>
class BoxReader {
 public:
  BoxReader() = default;
  explicit BoxReader(const Box<A>& box) : box_(box) {}

  // Returns whether the next message is there and has this number.
  bool has(std::uint32_t number) const {
    return box_.line(at_).word.load(std::memory_order_acquire) == (box_.stamp(at_) << 32 | number);
  }
  // Returns true if no message is there, whatever its number.
  bool empty() const {
    return box_.line(at_).word.load(std::memory_order_acquire) >> 32 != box_.stamp(at_);
  }

  // Calls handle(header, payload) with the message that is there (has()), and removes it. `most` is
  // the largest length of a payload that is believed, in bytes.
  template <class Handle>
  void take(std::uint32_t most, Handle handle) {
    const Line<A>& line = box_.line(at_);
    // If many messages wait, each costs a line of the sender's cache: two are fetched at a time.
    __builtin_prefetch(&box_.line(at_ + 2));
    std::uint64_t begin = bytes_at_;
    const std::uint32_t length = length_of(line, most);
    if (length > kInline) {
      begin = begin_of(bytes_at_, length, box_.byte_count);
      bytes_at_ = end_of(begin, length);
    }
    handle(line.header, payload_of(line, box_.place(begin), length));
    ++at_;
    // The receiver tells the sender only now and then, since each time costs the sender a line of
    // its cache. What is not told is too little to make the sender wait for ever.
    if (at_ - lines_told_ >= box_.line_count / 4 || bytes_at_ - bytes_told_ >= box_.byte_count / 4)
      tell();
  }

  // Tells the sender how much was read, so that it has that much room. all_told() returns whether
  // the sender knows all.
  void tell() {
    lines_told_ = at_;
    bytes_told_ = bytes_at_;
    box_.control->consumed_lines.store(at_, std::memory_order_release);
    box_.control->consumed_bytes.store(bytes_at_, std::memory_order_release);
  }
  bool all_told() const { return lines_told_ == at_ && bytes_told_ == bytes_at_; }

  // Gives the box to the rank. The box must be empty, and no other rank may write to it.
  void give(std::uint32_t rank) {
    tell();
    box_.control->given.store(rank + 1, std::memory_order_release);
  }
  // Ends the sender's right to write. After this, the caller must make all stores visible
  // (Barrier). Then the sender may still be writing, or may have written.
  void take_back() { box_.control->given.exchange(0, std::memory_order_seq_cst); }

 private:
  Box<A> box_;
  std::uint64_t at_ = 0, bytes_at_ = 0;
  std::uint64_t lines_told_ = 0, bytes_told_ = 0;
};

}  // namespace scela::channel::shm
