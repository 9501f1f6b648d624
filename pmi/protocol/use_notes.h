// Notes in a rank's ring (ring_layout.h) which pairs of the node's segment the rank has read. The
// rank's agent reads the notes, because its cache evicts the least recently used pairs. A get from
// shared memory makes no request, so the agent would not know of it otherwise.
//
//   count:word, then kUses words: the key's hash (segment_layout.h) of use n at n modulo kUses
//
// The notes are a sample: if a rank has read more than kUses pairs since its agent looked, only the
// last kUses are known. The agent need not trust them: it skips a hash that belongs to no key. A
// rank can only change the order in which pairs of its own node are evicted.
//
// Knows no descriptor and no process. Several threads of a rank may call note().
#pragma once

#include <algorithm>
#include <cstdint>

#include "pmi/protocol/ring_layout.h"

namespace scela::pmi::ring {

class UseNotes {
 public:
  // `base` is the begin of a rank's ring, of kTotalBytes.
  explicit UseNotes(void* base)
      : words_(reinterpret_cast<std::uint64_t*>(static_cast<char*>(base) + kUsesAt)) {}

  // Notes a use of the key with this hash (segment::hash_of()). The rank calls this. If two threads
  // call at the same time, one use may be lost.
  void note(std::uint64_t hash) {
    const std::uint64_t count = __atomic_load_n(words_, __ATOMIC_RELAXED);
    __atomic_store_n(words_ + 1 + count % kUses, hash, __ATOMIC_RELAXED);
    __atomic_store_n(words_, count + 1, __ATOMIC_RELEASE);
  }

  // The agent calls this. It calls each(hash) for the uses since the last take(), the latest last.
  template <class Each>
  void take(const Each& each) {
    const std::uint64_t count = __atomic_load_n(words_, __ATOMIC_ACQUIRE);
    const std::uint64_t most = std::min<std::uint64_t>(count - taken_, kUses);
    for (std::uint64_t use = count - most; use != count; ++use)
      each(__atomic_load_n(words_ + 1 + use % kUses, __ATOMIC_RELAXED));
    taken_ = count;
  }

 private:
  std::uint64_t* words_;
  std::uint64_t taken_ = 0;
};

}  // namespace scela::pmi::ring
