// A completion queue behind the pointer that a program holds. It begins with the public structure
// of verbs, followed by what this library knows. Any thread may use it, within the rules of verbs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "hca/core/wire/shared_layout.h"
#include "hca/library/link/engine_link.h"
#include "hca/library/verbs/verbs.h"

namespace scela::hca::library {

struct Qp;

// A completion queue. `lock` protects the members that a poll changes.
struct Cq : ibv_cq_ex {
  std::mutex lock;
  // The ring that the engine writes (hca/core/wire/shared_layout.h). These are its head, its place,
  // its entries, and the number of entries minus 1. The place is how the engine names it.
  CompletionRing* ring = nullptr;
  Region region;
  const std::byte* entries = nullptr;
  std::uint64_t mask = 0;
  std::uint64_t taken = 0;     // completions taken since it was made
  std::uint64_t produced = 0;  // the engine's counter as last seen
  std::uint64_t cookie = 0;    // number of this queue in events
  // The row of vain polls in which PollSleeper has noted this queue.
  std::uint32_t noted_in = 0;
  // The queue pair of the last completion, looked up once: most completions are of the same one.
  Qp* last = nullptr;
  // Events that were handed to the program: of the channel, and asynchronous ones. They are
  // protected by `mutex` of ibv_cq.
  std::uint32_t comp_events = 0;
  std::uint32_t async_events = 0;
  // The program uses its extended polling functions from one thread at a time, so they take no
  // lock.
  bool single_threaded = false;
  // A poll that finds nothing may move parts of long messages (hca/library/link/helper.h).
  bool helps = true;
  // The value of `taken` at start_poll. end_poll tells the engine what was taken since.
  std::uint64_t polled_from = 0;
  Completion current;  // completion that the program reads
  // For tasks (hca/include/scela/verbs_ext.h): the base that WAITs count from, in completions since
  // the queue was made. `max_wait` is the largest WAIT since the base moved.
  std::uint64_t wait_base = 0;
  std::uint64_t max_wait = 0;

  // Uses the ring of `count` entries in the region `where` from now on, also after a resize.
  // Returns false if the engine's answer makes no sense.
  bool map(EngineLink& link, const Region& where, std::uint32_t count);
};

// Return the object behind a program's pointer, and the pointer for the program.
inline Cq& cq_of(ibv_cq* cq) {
  return *static_cast<Cq*>(reinterpret_cast<ibv_cq_ex*>(cq));
}
inline ibv_cq* public_of(Cq& cq) {
  return reinterpret_cast<ibv_cq*>(static_cast<ibv_cq_ex*>(&cq));
}

}  // namespace scela::hca::library
