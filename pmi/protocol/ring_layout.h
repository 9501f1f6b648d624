// The layout of a ring: the memory through which a rank and its agent, the launcher's process on
// the rank's node, exchange PMI requests and answers instead of a socket. The two ends in ring.h
// use it. To ring is to write to the agent's eventfd, the doorbell; to wake is a futex on the
// rank's side.
//
// Each rank has one such memory, of a small fixed size, that both sides write. It holds a stream of
// bytes from the rank (requests), another one to the rank (answers), and the words by which each
// side wakes the other. The bytes are those of the socket. Every word is 8 bytes in the machine's
// own order, read and written atomically. Positions count bytes since the beginning and never wrap;
// the byte at position p lies at p modulo the capacity.
//
// A side that waits sets a flag, looks again, and sleeps. A side that has done something then looks
// at the flag of the other. All these accesses are sequentially consistent, so that one of the two
// sees the other:
//
//   rank   request_tail, then armed: if it was set, clears it and rings the agent's doorbell
//   agent  armed, then request_tail: if that has moved, it goes on instead of sleeping
//   agent  whenever it looks: armed if the rank has cleared it, even for what is read already
//   agent  answer_tail or request_head, then news, then sleeping: if set, clears it and wakes
//   rank   sleeping, then news: if that has moved, it looks again; else a futex on news
//   agent  want_room, then answer_head; rank answer_head, then want_room: rings if it was set
//
// Every flag belongs to one rank only, so a rank that is killed between two steps blocks no other.
// The agent trusts none of the rank's words: it checks positions against its own, and copies bytes
// out before it looks at them.
//
// Knows no descriptor and no process. Constants only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scela::pmi::ring {

inline constexpr std::uint64_t kMagic = 0x3252'6165'6c65'6353;  // changes with the layout

// The words that one end writes often share no cache line with those of the other end. The value is
// the word's index in the memory.
enum Word : std::size_t {
  magic = 0,        // kMagic
  total_bytes = 1,  // of the whole memory
  agent = 2,        // the agent's pid, as a child sees it
  closed = 3,       // not 0: the agent serves it no more

  request_head = 8,  // written by the agent: how far it read
  answer_tail = 9,   //   how far it wrote
  news = 10,         //   grows with both; lower half: a futex

  request_tail = 16,  // written by the rank
  answer_head = 17,
  taken = 18,  // not 0: the rank has left its socket

  armed = 24,      // agent: ring if there are requests
  want_room = 25,  // agent: ring if answers were read
  sleeping = 26,   // rank: wake me for this (kFor...)
  kHeaderWords = 32
};

// The values of `sleeping`, which is 0 while the rank is awake.
inline constexpr std::uint64_t kForAnswers = 1;
inline constexpr std::uint64_t kForRoom = 2;  // or answers

inline constexpr std::size_t kHeaderBytes = kHeaderWords * 8;
// The capacity of each stream, in bytes. Longer lines and answers pass in pieces; a usual line is
// far shorter.
inline constexpr std::size_t kCapacity = 4096;
// The offsets of the two streams.
inline constexpr std::size_t kRequestsAt = kHeaderBytes;
inline constexpr std::size_t kAnswersAt = kRequestsAt + kCapacity;
// Behind both streams the rank notes which pairs of the node's segment it has read (use_notes.h).
// kUses is the number of notes.
inline constexpr std::size_t kUses = 64;
inline constexpr std::size_t kUsesAt = kAnswersAt + kCapacity;
inline constexpr std::size_t kTotalBytes = kUsesAt + (1 + kUses) * 8;

}  // namespace scela::pmi::ring
