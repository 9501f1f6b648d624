// The writer's view of a ring of requests: a program's queue pair has two, a shared receive queue
// one. A thread that posts holds the queue's lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "hca/core/wire/doorbells.h"
#include "hca/core/wire/layout.h"
#include "hca/library/link/engine_link.h"

namespace scela::hca::library {

struct RequestQueue {
  std::mutex mutex;
  // This is null if there is no queue: the type of the queue pair has none, or it was made with no
  // slots.
  RequestRing* ring = nullptr;
  Region region;
  std::byte* entries = nullptr;
  std::uint64_t mask = 0;
  std::uint32_t stride = 0;
  std::uint32_t capacity = 0;  // requests posted and not completed
  // The limits of one request: its scatter/gather entries, and its inline bytes.
  std::uint32_t sges = 0;
  std::uint32_t inline_bytes = 0;
  // The number of this queue's doorbell (EngineLink::ring).
  std::uint32_t doorbell = 0;
  bool held = false;  // until a task enables it
  // Requests have an index, counted from 0 since the queue was made. These are the indexes behind
  // the last request that was posted, taken by the engine, or completed. A shared queue counts in
  // `completed` instead, since its requests complete in any order.
  std::uint64_t posted = 0;
  std::uint64_t taken = 0;  // the engine's counter as last seen
  std::atomic<std::uint64_t> completed{0};

  // Returns false if the engine's answer makes no sense. A region of zero slots is a queue without
  // room, and no error. `slots` is a power of two. The slots are `bytes_apart` bytes apart, and
  // each begins with a request of `header` bytes.
  bool map(EngineLink& link, const Region& where, std::uint32_t slots, std::uint32_t bytes_apart,
           std::size_t header);
  std::byte* slot(std::uint64_t index) const { return entries + (index & mask) * stride; }
  // Returns true if a request with the index `at` cannot be posted now. The caller holds `mutex`.
  bool full(std::uint64_t at) {
    if (at - completed.load(std::memory_order_acquire) >= capacity) return true;
    if (at - taken <= mask) return false;
    taken = ring->taken.load(std::memory_order_acquire);
    return at - taken > mask;
  }
  // Hands everything before `end` to the engine and, on a send queue, tells it. If the queue is
  // held, this does not wake the engine.
  void publish_sends(EngineLink& link, std::uint64_t end) {
    if (end == posted) return;
    posted = end;
    if (held && !post_silently(*ring, end)) return link.mark(doorbell);
    if (!held) ring->posted.store(end, std::memory_order_release);
    link.ring(doorbell);
  }
  // The engine looks for receives when a message comes. It is told of new ones only if it has asked
  // for that.
  void publish_receives(EngineLink& link, std::uint64_t end) {
    if (end == posted) return;
    posted = end;
    if (post_silently(*ring, end)) link.ring(doorbell);
  }
  // Counts all requests as completed, without completions: the queue pair was reset.
  void forget_all() { completed.store(posted, std::memory_order_release); }
};

}  // namespace scela::hca::library
