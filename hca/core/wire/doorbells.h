// The steps by which a program and its engine never miss each other's news. The side that has news
// publishes it, then checks whether the other side sleeps. The side that is about to sleep
// announces that, then checks for news. All these accesses have one total order, so at least one
// side sees the other.
//
// Each function says which side calls it. The engine calls its functions from its one thread. A
// program's threads may call theirs concurrently, except post_silently(): a ring has one poster at
// a time. They are templates over the structures of layout.h, so that
// tests/unit/hca/core/interleavings_test.cpp can run the same steps in every order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "hca/core/wire/layout.h"

namespace scela::hca {

// Called by the program: marks a queue as having a new entry. An engine that is awake sees the
// mark.
template <class Page>
void mark(Page& page, std::uint32_t doorbell) {
  const std::uint32_t word = doorbell % kDoorbells / 64;
  page.words[word].fetch_or(1ULL << (doorbell % 64), std::memory_order_release);
  page.summary.fetch_or(1ULL << word, std::memory_order_seq_cst);
}
// Called by the program: marks the queue. Returns true if the engine sleeps; the caller must then
// wake it.
template <class Page, class Engine>
bool ring(Page& page, Engine& engine, std::uint32_t doorbell) {
  mark(page, doorbell);
  return engine.asleep.load(std::memory_order_seq_cst) != 0 &&
         engine.asleep.exchange(0, std::memory_order_seq_cst) != 0;
}

// Called by the engine: returns whether a doorbell of this process was rung since take_doorbells().
template <class Page>
bool has_rung(const Page& page) {
  return page.summary.load(std::memory_order_seq_cst) != 0;
}

// Called by the engine: calls each(doorbell) once for each doorbell that was rung, and clears them.
template <class Page, class Each>
void take_doorbells(Page& page, Each each) {
  if (page.summary.load(std::memory_order_relaxed) == 0) return;
  std::uint64_t words = page.summary.exchange(0, std::memory_order_acquire);
  for (; words != 0; words &= words - 1) {
    const auto word = static_cast<std::uint32_t>(__builtin_ctzll(words));
    std::uint64_t bits = page.words[word].exchange(0, std::memory_order_acquire);
    for (; bits != 0; bits &= bits - 1)
      each(word * 64 + static_cast<std::uint32_t>(__builtin_ctzll(bits)));
  }
}

// Called by the engine before it sleeps. Returns false if there is work to do after all.
template <class Engine, class Wanted>
bool may_sleep(Engine& engine, Wanted wanted) {
  engine.asleep.store(1, std::memory_order_seq_cst);
  return !wanted();
}

// Called by the engine after its sleep: programs need not wake it any more.
template <class Engine>
void wake_up(Engine& engine) {
  engine.asleep.store(0, std::memory_order_seq_cst);
}

// Called by the program: publishes the requests before `end`, which are receives or held sends. The
// engine looks at them when a message arrives or when they are enabled. Returns true if the engine
// wants a doorbell nevertheless.
template <class Ring>
bool post_silently(Ring& ring, std::uint64_t end) {
  ring.posted.store(end, std::memory_order_seq_cst);
  return ring.ring_on_post.load(std::memory_order_seq_cst) != 0;
}

// Called by the engine: asks for a doorbell for each request posted from now on. The engine then
// looks at what was posted before.
template <class Ring>
void want_doorbells(Ring& ring) {
  ring.ring_on_post.store(1, std::memory_order_seq_cst);
}
// Called by the engine once all requests that may be executed are posted: later ones need no
// doorbell.
template <class Ring>
void want_no_doorbells(Ring& ring) {
  if (ring.ring_on_post.load(std::memory_order_relaxed) != 0)
    ring.ring_on_post.store(0, std::memory_order_seq_cst);
}
// Called by the engine: returns the end of the posted entries, as the program claims it.
template <class Ring>
std::uint64_t posted_to(const Ring& ring) {
  return ring.posted.load(std::memory_order_seq_cst);
}

// Called by the engine: publishes the completions before `end`. The engine then checks which
// threads and channels it must tell.
template <class Ring>
void show_completions(Ring& ring, std::uint64_t end) {
  ring.produced.store(end, std::memory_order_seq_cst);
}
// Called by the engine: returns true if polling threads sleep, or are about to, and must be woken.
template <class Ring>
bool take_watch(Ring& ring) {
  return ring.watched.load(std::memory_order_seq_cst) != 0 && ring.watched.exchange(0) != 0;
}
// Called by the engine: returns true if the program's channel must get an event. `urgent` says that
// the completion is solicited or has failed.
template <class Ring>
bool take_arming(Ring& ring, bool urgent) {
  const auto armed = static_cast<Armed>(ring.armed.load(std::memory_order_seq_cst));
  return (armed == Armed::any || (armed == Armed::solicited && urgent)) &&
         ring.armed.exchange(0) != 0;
}

// Called by the program: asks for an event. The program polls once more before it waits for the
// event.
template <class Ring>
void arm(Ring& ring, bool solicited_only) {
  if (!solicited_only) {
    ring.armed.store(static_cast<std::uint32_t>(Armed::any), std::memory_order_seq_cst);
    return;
  }
  // A queue that is armed for any completion stays so: solicited ones are among them.
  auto unarmed = static_cast<std::uint32_t>(Armed::no);
  ring.armed.compare_exchange_strong(unarmed, static_cast<std::uint32_t>(Armed::solicited),
                                     std::memory_order_seq_cst);
}

// Returns true if no completion arrived since the ring was marked as watched. If the mark is gone,
// the engine has woken the sleepers, and another thread may have taken the completion.
template <class Ring>
bool is_quiet(const Ring& ring) {
  return ring.watched.load(std::memory_order_seq_cst) != 0 &&
         ring.produced.load(std::memory_order_seq_cst) ==
             ring.consumed.load(std::memory_order_acquire);
}

// Called by the program after polls found no completion in any of these queues. `sleep(seen)` must
// sleep until `doorbell` differs from `seen`; it is not called if a completion has arrived.
template <class Page, class Rings, class Sleep>
void sleep_until_doorbell(Page& page, const Rings& rings, Sleep sleep) {
  for (auto* const each : rings)
    each->watched.store(1, std::memory_order_seq_cst);
  page.waiters.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = page.doorbell.load(std::memory_order_seq_cst);
  if (std::all_of(rings.begin(), rings.end(), [](const auto* each) { return is_quiet(*each); }))
    sleep(seen);
  page.waiters.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace scela::hca
