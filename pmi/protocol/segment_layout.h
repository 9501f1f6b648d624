// The layout of a segment: the memory that a node's agent shares with its ranks (decision D6).
// segment_reader.h reads it, and pmi/server/segment_writer.h writes it.
//
// There is one segment per node and job. The agent writes it; ranks map it read-only. Every field
// after the magic is a word of 8 bytes in the machine's own order, read and written atomically.
// Offsets count bytes from the segment's begin and are multiples of 8.
//
//   header    the words of enum Word below, kHeaderBytes in all
//   dead      one bit a rank: its process failed; (ranks + 63) / 64 words
//   table     capacity:word, then `capacity` slots (a power of two); slot = hash's upper half
//             << 32 | record offset / 8; 0: empty; kTombstone: was in use
//   record    key size << 32 | value size, then the key and the value, each padded to words
//
// The agent changes a pair by writing a new record and then its slot. A reader of a slot therefore
// reads a complete record: records in use are never written again. If the segment is full, or most
// of it is garbage, the agent lays out all pairs anew. Meanwhile `sequence` is odd; afterwards it
// has a new value. A reader notes the sequence, reads, and trusts the result only if the sequence
// is even and unchanged. After kMaxTries it asks its agent, as for a missing key. A reader trusts
// sizes only within the segment. A larger table is written beside the old one, which stays
// unchanged for its readers.
//
// Knows no descriptor and no process. The functions are for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace scela::pmi::segment {

inline constexpr std::uint64_t kMagic = 0x3167655361'4c6543;  // changes with the layout
inline constexpr std::uint64_t kTombstone = UINT32_MAX;       // of a slot that was in use
// A reader gives up after this number of attempts. With fewer it asks the agent although the layout
// lasts a moment only; with more it spins longer if the agent is stopped.
inline constexpr int kMaxTries = 64;

// The value is the word's index in the segment.
enum Word : std::size_t {
  magic,
  total_bytes,      // of the whole segment, as mapped
  sequence,         // odd: being laid out anew
  table_at,         // offset of the table; 0: none yet
  ranks,            // number of ranks of the job
  dead_at,          // offset of the bits
  dead_generation,  // grows with bits; lower half: a futex
  kHeaderWords
};
inline constexpr std::uint64_t kHeaderBytes = 64;
static_assert(kHeaderWords * 8 <= kHeaderBytes);

// Returns the number of bytes, rounded up to whole words.
constexpr std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + 7) & ~std::uint64_t{7};
}

// Returns the hash of a key, by which the table is searched. It mixes as FNV-1a does, but over
// words instead of bytes. The last steps make all bits depend on all, because keys are short and
// differ in their last characters.
inline std::uint64_t hash_of(std::string_view key) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ key.size();
  while (!key.empty()) {
    std::uint64_t word = 0;
    const std::size_t take = key.size() < 8 ? key.size() : 8;
    for (std::size_t i = 0; i < take; ++i)
      word |= std::uint64_t{static_cast<unsigned char>(key[i])} << (8 * i);
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 29;
    key.remove_prefix(take);
  }
  hash *= 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

// Reads a word of the segment, atomically and with acquire order.
inline std::uint64_t load(const std::uint64_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

}  // namespace scela::pmi::segment
