// A completion queue behind the pointer that a program holds. It begins with the public structure
// of verbs, followed by what this library knows. Any thread may use it, within the rules of verbs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "hca/core/wire/layout.h"
#include "hca/library/link/engine_link.h"
#include "hca/library/verbs/verbs.h"

namespace scela::hca::library {

struct Qp;

struct Cq : ibv_cq_ex {
  std::mutex lock;
  CompletionRing* ring = nullptr;
  Region region;
  const std::byte* entries = nullptr;
  std::uint64_t mask = 0;
  std::uint64_t taken = 0;     // as `consumed`, on this side
  std::uint64_t produced = 0;  // the engine's counter as last seen
  std::uint64_t cookie = 0;
  std::uint32_t noted_in = 0;  // row of PollSleeper that noted this queue
  // The queue pair of the last completion: most completions are of the same one.
  Qp* last = nullptr;
  std::uint32_t comp_events = 0;  // handed out; under `mutex`
  std::uint32_t async_events = 0;
  bool single_threaded = false;
  // Vain polls move bytes (hca/library/link/helper.h).
  bool helps = true;
  // The value of `taken` at start_poll. end_poll gives back what was taken since.
  std::uint64_t polled_from = 0;
  Completion current;  // the completion of next_poll
  // The base that WAITs count from, and by how much the next base is larger
  // (hca/include/scela/verbs_ext.h).
  std::uint64_t wait_base = 0;
  std::uint64_t max_wait = 0;

  // Maps a ring of `count` entries, also after a resize. Returns false if the engine's answer makes
  // no sense.
  bool map(EngineLink& link, const Region& where, std::uint32_t count);
};

inline Cq& cq_of(ibv_cq* cq) {
  return *static_cast<Cq*>(reinterpret_cast<ibv_cq_ex*>(cq));
}
inline ibv_cq* public_of(Cq& cq) {
  return reinterpret_cast<ibv_cq*>(static_cast<ibv_cq_ex*>(&cq));
}

}  // namespace scela::hca::library
