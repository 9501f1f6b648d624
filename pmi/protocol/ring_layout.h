// The memory through which a rank and its agent talk instead of a socket: what lies where.
//
// One small memory per rank, of fixed size, written by both: a stream of bytes from the rank
// (requests), another one to it (answers), and what each must know to wake the other. The bytes are
// those of the socket. Every word is 8 bytes in the machine's own order, read and written
// atomically; positions count bytes since the beginning and never wrap, the byte at position p lies
// at p modulo the capacity.
//
// Who waits says so, looks again, and sleeps; who has done something looks whether anybody said so.
// All these are sequentially consistent, so that one of the two sees the other:
//
//   rank   request_tail, then armed: if it was set, clears it and rings the agent's bell
//   agent  armed, then request_tail: if that has moved, it goes on instead of sleeping
//   agent  whenever it looks: armed if the rank has cleared it, even for what is read already
//   agent  answer_tail or request_head, then news, then sleeping: if set, clears it and wakes
//   rank   sleeping, then news: if that has moved, it looks again; else a futex on news
//   agent  want_room, then answer_head; rank answer_head, then want_room: rings if it was set
//
// Every flag is of one rank only: one that is killed between two steps takes nobody with it. The
// agent believes none of the rank's words: it checks positions against its own, and copies bytes
// out before it looks at them.
//
// Knows no descriptor and no process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scela::pmi::ring {

inline constexpr std::uint64_t kMagic = 0x3252'6165'6c65'6353;  // changes with the layout

// Words that one end writes often share no cache line with those of the other.
enum Word : std::size_t {
  magic = 0,
  total_bytes = 1,
  agent = 2,   // process that serves it, as a direct child of it sees it
  closed = 3,  // not 0: nobody serves it any more

  request_head = 8,  // written by the agent: how far it has read
  answer_tail = 9,   //   how far it has written
  news = 10,         //   counts both; its lower half is a futex

  request_tail = 16,  // written by the rank
  answer_head = 17,
  taken = 18,  // not 0: the rank has left its socket

  armed = 24,      // set by the agent: ring when there are requests
  want_room = 25,  // set by the agent: ring when answers were read
  sleeping = 26,   // set by the rank to what it waits for: wake it then
  kHeaderWords = 32
};

// In `sleeping`; 0: it is awake.
inline constexpr std::uint64_t kForAnswers = 1;
inline constexpr std::uint64_t kForRoom = 2;  // or answers

inline constexpr std::size_t kHeaderBytes = kHeaderWords * 8;
// Longer lines and answers pass in pieces; a usual one is far shorter.
inline constexpr std::size_t kCapacity = 4096;
inline constexpr std::size_t kRequestsAt = kHeaderBytes;
inline constexpr std::size_t kAnswersAt = kRequestsAt + kCapacity;
// Behind both streams: which pairs of the node's segment the rank has read (use_notes.h).
inline constexpr std::size_t kUses = 64;
inline constexpr std::size_t kUsesAt = kAnswersAt + kCapacity;
inline constexpr std::size_t kTotalBytes = kUsesAt + (1 + kUses) * 8;

}  // namespace scela::pmi::ring
