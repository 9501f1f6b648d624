// The memory that a node's agent shares with its ranks (decision D6): what lies where.
//
// One segment per node and job. The agent writes, ranks map it for reading only. Every field after
// the magic is a word of 8 bytes in the machine's own order, read and written atomically; offsets
// count from the segment's begin and are multiples of 8.
//
//   header    the words of enum Word below, kHeaderBytes in all
//   dead      one bit a rank: its process failed; (ranks + 63) / 64 words
//   table     capacity:word, then `capacity` slots (a power of two); slot = hash's upper half
//             << 32 | record offset / 8; 0: empty; kTombstone: was in use
//   record    key size << 32 | value size, then the key and the value, each padded to words
//
// A pair is changed by writing a new record and then its slot, so whoever reads a slot reads a
// whole record: records in use are never written again. Only when what is left of the room is used
// up does the agent lay everything out anew; meanwhile `sequence` is odd, and it is another
// afterwards. A reader therefore notes the sequence, reads, and believes what it read only if the
// sequence is even and the same; after kMaxTries it asks through its socket, as for a key that is
// not there. Sizes that a reader finds are only believed within the segment. A growing table is
// written beside the old one, which stays as it is for those who read it.
//
// Knows no descriptor and no process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace scela::pmi::segment {

inline constexpr std::uint64_t kMagic = 0x3167655361'4c6543;  // changes with the layout
inline constexpr std::uint64_t kTombstone = UINT32_MAX;
inline constexpr int kMaxTries = 64;

enum Word : std::size_t {
  magic,
  total_bytes,      // of the segment, which readers map whole
  sequence,         // odd: being laid out anew
  table_at,         // offset of the table; 0: none yet
  ranks,            // of the job
  dead_at,          // offset of the bits
  dead_generation,  // its lower half is a futex: grows when bits are set
  kHeaderWords
};
inline constexpr std::uint64_t kHeaderBytes = 64;
static_assert(kHeaderWords * 8 <= kHeaderBytes);

constexpr std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + 7) & ~std::uint64_t{7};
}

// FNV-1a's mixing over words instead of bytes, finished so that all bits depend on all: keys are
// short and differ in their last characters.
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

inline std::uint64_t load(const std::uint64_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

}  // namespace scela::pmi::segment
