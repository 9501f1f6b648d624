// The layout of the memory that a node's ranks share: a message's first line, and the structures
// that each rank has there for the others.
//
// The templates take a stand-in for std::atomic:
// tests/unit/comm-channel/shm/rings/interleavings_test.cpp runs the steps over these in every
// order.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace scela::channel::shm {

// The header of a message; nothing in this folder interprets it.
struct Header {
  std::array<std::uint64_t, 3> words{};

  friend bool operator==(const Header&, const Header&) = default;
};
// Returns the header's 24 bytes as a value of another type of that size.
template <class Value>
Value value_of(const Header& header) {
  return std::bit_cast<Value>(header);
}

// A payload of at most this many bytes is in the line itself: a message of eight bytes costs one
// cache line.
inline constexpr std::uint32_t kInline = 24;
inline constexpr std::uint32_t kLineBytes = 64;

// The first line of a message, in a box or in the inbox.
template <template <class> class A>
struct Line {
  // In a box: when the line was written, and the message's number. In the inbox: its turn, state
  // and owner.
  alignas(kLineBytes) A<std::uint64_t> word;
  std::uint32_t number;  // counts per sender; inbox only
  std::uint32_t length;  // of the payload, in bytes
  Header header;
  std::array<std::byte, kInline> bytes;
};

// The sizes of each rank's area. They are powers of two, except `payload` (a multiple of a line)
// and `boxes`.
struct Shape {
  std::uint32_t ranks = 0;
  std::uint32_t cells = 32;         // of the inbox
  std::uint32_t payload = 4096;     // the most bytes of a message
  std::uint32_t boxes = 4;          // one for each of so many senders
  std::uint32_t box_lines = 64;     // messages in it
  std::uint32_t box_bytes = 32768;  // for payloads above kInline

  friend bool operator==(const Shape&, const Shape&) = default;
};

// The control words of a box, which is one sender's ring at a receiver. Each line of it is written
// by one side only.
template <template <class> class A>
struct BoxControl {
  alignas(kLineBytes) A<std::uint32_t> given;           // the owner's rank plus 1
  alignas(kLineBytes) A<std::uint64_t> consumed_lines;  // as told to the sender
  A<std::uint64_t> consumed_bytes;
};

// The control words by which ranks reach one rank; that rank owns them.
template <template <class> class A>
struct Mailbox {
  alignas(kLineBytes) A<std::uint64_t> tail;        // of the inbox, a hint
  alignas(kLineBytes) A<std::uint32_t> asleep;      // futex; 1: asleep, or about to be
  A<std::uint32_t> blocked;                         // it also waits for room somewhere
  alignas(kLineBytes) A<std::uint32_t> wants_room;  // another rank waits for room here
  alignas(kLineBytes) A<std::uint32_t> writing;     // writes to a box of rank (value - 1)
};

// The addresses of a rank's structures.
template <template <class> class A>
struct Area {
  Mailbox<A>* mailbox = nullptr;
  Line<A>* cells = nullptr;
  std::byte* payload = nullptr;  // of the inbox, a piece for each cell
  BoxControl<A>* boxes = nullptr;
  Line<A>* box_lines = nullptr;
  std::byte* box_bytes = nullptr;
};

inline constexpr std::uint32_t log2_of(std::uint32_t power) {
  return static_cast<std::uint32_t>(std::countr_zero(power));
}

// Copies mostly a few bytes; a call of memcpy costs more than eight of them.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  if (size == 8)
    std::memcpy(to, from, 8);
  else if (size != 0)
    std::memcpy(to, from, size);
}

// Writes a message into a line, but for its word. The payload goes to `elsewhere` if it is longer
// than kInline bytes.
template <template <class> class A>
void fill(Line<A>& line, std::byte* elsewhere, const Header& header,
          std::span<const std::byte> payload) {
  line.length = static_cast<std::uint32_t>(payload.size());
  line.header = header;
  copy_bytes(payload.size() <= kInline ? line.bytes.data() : elsewhere, payload.data(),
             payload.size());
}

// Returns the length of the payload in bytes, at most `most`. It is read once: the value that was
// checked is the one used, whatever its writer does meanwhile.
template <template <class> class A>
std::uint32_t length_of(const Line<A>& line, std::uint32_t most) {
  const std::uint32_t length = *static_cast<const volatile std::uint32_t*>(&line.length);
  return length < most ? length : most;
}

// Returns the payload of a line that was published. `length` is that of length_of(), which does not
// believe a sender that says more than can be.
template <template <class> class A>
std::span<const std::byte> payload_of(const Line<A>& line, const std::byte* elsewhere,
                                      std::uint32_t length) {
  return {length <= kInline ? line.bytes.data() : elsewhere, length};
}

}  // namespace scela::channel::shm
