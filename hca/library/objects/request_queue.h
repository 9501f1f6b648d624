// The library's view of a ring of requests that the program posts: a program's queue pair has two,
// a shared receive queue one. A thread that posts holds the queue's `mutex`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "hca/core/wire/doorbells.h"
#include "hca/core/wire/shared_layout.h"
#include "hca/library/link/engine_link.h"

namespace scela::hca::library {

// A send or receive queue. Requests have an index, counted from 0 since the queue was made, and a
// slot, the entry of the ring that holds them.
struct RequestQueue {
  std::mutex mutex;
  // The ring that the engine reads (hca/core/wire/shared_layout.h). These are its head, its place,
  // its slots, the number of slots minus 1, and the bytes from slot to slot. `ring` is null if
  // there is no queue: the type of the queue pair has none, or it was made with no slots.
  RequestRing* ring = nullptr;
  Region region;
  std::byte* entries = nullptr;
  std::uint64_t mask = 0;
  std::uint32_t stride = 0;
  // The greatest number of requests that are posted and not completed.
  std::uint32_t capacity = 0;
  // The limits of one request: its scatter/gather entries, and its inline data in bytes.
  std::uint32_t sges = 0;
  std::uint32_t inline_bytes = 0;
  // The number of this queue's doorbell (EngineLink::ring()).
  std::uint32_t doorbell = 0;
  // Requests wait in the queue until a task enables them.
  bool held = false;
  // The indexes behind the last request that was posted, taken by the engine, or completed. A
  // shared queue counts in `completed` instead, since its requests complete in any order.
  std::uint64_t posted = 0;
  std::uint64_t taken = 0;  // the engine's counter as last seen
  std::atomic<std::uint64_t> completed{0};

  // Uses the ring in the region `where` from now on. `slots` is a power of two. The slots are
  // `bytes_apart` bytes apart, and each begins with a request of `header` bytes. Returns false if
  // the engine's answer makes no sense. A region of zero bytes is a queue without room, and no
  // error.
  bool map(EngineLink& link, const Region& where, std::uint32_t slots, std::uint32_t bytes_apart,
           std::size_t header);
  // Returns the slot of the request with this index.
  std::byte* slot(std::uint64_t index) const { return entries + (index & mask) * stride; }
  // Returns true if no request with the index `at` can be posted now. The caller holds `mutex`.
  bool full(std::uint64_t at) {
    if (at - completed.load(std::memory_order_acquire) >= capacity) return true;
    if (at - taken <= mask) return false;
    taken = ring->taken.load(std::memory_order_acquire);
    return at - taken > mask;
  }
  // Hands the send requests with an index below `end` to the engine, and rings the doorbell. If the
  // requests are held, that wakes a sleeping engine only if it has asked for doorbells.
  void publish_sends(EngineLink& link, std::uint64_t end) {
    if (end == posted) return;
    posted = end;
    if (held && !post_silently(*ring, end)) return link.mark(doorbell);
    if (!held) ring->posted.store(end, std::memory_order_release);
    link.ring(doorbell);
  }
  // Hands the receive requests with an index below `end` to the engine. It looks for them when a
  // message comes, so the doorbell is rung only if the engine has asked for that.
  void publish_receives(EngineLink& link, std::uint64_t end) {
    if (end == posted) return;
    posted = end;
    if (post_silently(*ring, end)) link.ring(doorbell);
  }
  // Counts all requests as completed, without completions: the queue pair was reset.
  void forget_all() { completed.store(posted, std::memory_order_release); }
};

}  // namespace scela::hca::library
