// Which pairs of the node's segment a rank has read, noted in the rank's own memory (ring_layout.h)
// for its agent, whose cache evicts what was used least recently: a get that reads shared memory
// asks nobody, so nobody else would know.
//
//   count:word, then kUses words: the key's hash (segment_layout.h) of use n at n modulo kUses
//
// A sample: where a rank has read more pairs than kUses since its agent looked last, the last ones
// are known. The agent believes nothing of it: a hash that is no key's is passed over, and a rank
// can only change in which order pairs of its own node are evicted.
//
// Knows no descriptor and no process.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pmi/protocol/ring_layout.h"

namespace scela::pmi::ring {

class UseNotes {
 public:
  // `base`: of a rank's memory, kTotalBytes of it.
  explicit UseNotes(void* base)
      : words_(reinterpret_cast<std::uint64_t*>(static_cast<char*>(base) + kUsesAt)) {}

  // The rank's end. Of two threads at once one may be missed.
  void note(std::uint64_t hash) {
    const std::uint64_t count = __atomic_load_n(words_, __ATOMIC_RELAXED);
    __atomic_store_n(words_ + 1 + count % kUses, hash, __ATOMIC_RELAXED);
    __atomic_store_n(words_, count + 1, __ATOMIC_RELEASE);
  }

  // The agent's end: each(hash) for the uses since the last call, the latest last.
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
