// The steps by which a program and its engine never miss each other's news. The side that has news
// publishes it, then checks whether the other side sleeps. The side that is about to sleep
// announces that, then checks for news. All these accesses have one total order, so at least one
// side sees the other.
//
// A doorbell is a bit in memory that both map: the program sets the bit of a queue that has a new
// request. `Page` is ProcessPage, `Engine` is EnginePage, and `Ring` is RequestRing or
// CompletionRing (shared_layout.h).
//
// Each function says which side calls it. The engine calls its functions from its one thread. A
// program's threads may call theirs concurrently, except post_silently(): a ring has one poster at
// a time. They are templates over the structures of shared_layout.h, so that
// tests/unit/hca/core/interleavings_test.cpp can run the same steps in every order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "hca/core/wire/shared_layout.h"

namespace scela::hca {

// Called by the program: sets the doorbell with this number, which says that its queue has a new
// request. It does not wake an engine that sleeps.
template <class Page>
void mark(Page& page, std::uint32_t doorbell) {
  const std::uint32_t word = doorbell % kDoorbells / 64;
  page.words[word].fetch_or(1ULL << (doorbell % 64), std::memory_order_release);
  page.summary.fetch_or(1ULL << word, std::memory_order_seq_cst);
}
// Called by the program: sets the doorbell as mark() does. Returns true if the engine sleeps: the
// caller must then write to the engine's eventfd. If several threads find the engine asleep at
// once, one of them gets true.
template <class Page, class Engine>
bool ring(Page& page, Engine& engine, std::uint32_t doorbell) {
  mark(page, doorbell);
  return engine.asleep.load(std::memory_order_seq_cst) != 0 &&
         engine.asleep.exchange(0, std::memory_order_seq_cst) != 0;
}

// Called by the engine: returns whether a doorbell of this process was set since take_doorbells().
template <class Page>
bool has_rung(const Page& page) {
  return page.summary.load(std::memory_order_seq_cst) != 0;
}

// Called by the engine: clears all doorbells, and calls each(doorbell) once for each that was set.
// The argument is the doorbell's number, less than kDoorbells.
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

// Called by the engine before it sleeps: announces the sleep, then calls wanted(), which returns
// whether there is work. Returns false if there is work, so the engine must not sleep. In both
// cases the engine calls wake_up() afterwards.
template <class Engine, class Wanted>
bool may_sleep(Engine& engine, Wanted wanted) {
  engine.asleep.store(1, std::memory_order_seq_cst);
  return !wanted();
}

// Called by the engine when it is awake again: withdraws the announcement of may_sleep(), so that
// programs need not wake it.
template <class Engine>
void wake_up(Engine& engine) {
  engine.asleep.store(0, std::memory_order_seq_cst);
}

// Called by the program: publishes all requests with an index below `end`, which are receives or
// sends that are held (hca/include/scela/verbs_ext.h). The engine looks at them when a message
// arrives or when they are enabled. Returns true if the caller must set the queue's doorbell
// nevertheless, because the engine has asked for it (want_doorbells).
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
// Called by the engine: returns the index behind the last request that the program says it has
// posted. The value is not checked.
template <class Ring>
std::uint64_t posted_to(const Ring& ring) {
  return ring.posted.load(std::memory_order_seq_cst);
}

// Called by the engine: publishes the completions with an index below `end`. The engine then calls
// take_watch() and take_arming(), which say what it must wake.
template <class Ring>
void show_completions(Ring& ring, std::uint64_t end) {
  ring.produced.store(end, std::memory_order_seq_cst);
}
// Called by the engine: returns true if the ring is marked as watched, and clears the mark. Threads
// of the process then sleep in a poll, or are about to, and the engine must wake them.
template <class Ring>
bool take_watch(Ring& ring) {
  return ring.watched.load(std::memory_order_seq_cst) != 0 && ring.watched.exchange(0) != 0;
}
// Called by the engine: returns true if the completion channel must get an event, and then disarms
// the ring. `urgent` says that the completion is solicited or has failed.
template <class Ring>
bool take_arming(Ring& ring, bool urgent) {
  const auto armed = static_cast<Armed>(ring.armed.load(std::memory_order_seq_cst));
  return (armed == Armed::any || (armed == Armed::solicited && urgent)) &&
         ring.armed.exchange(0) != 0;
}

// Called by the program: asks for one event on the completion channel, at the next completion. If
// `solicited_only` is true, a completion that is unsolicited and has succeeded causes none. The
// program must poll once more before it waits for the event.
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

// Called by the program, for a ring that it has marked as watched. Returns true if no completion
// has arrived since. Returns false if one has arrived, or if the mark is gone. The engine has then
// woken the sleepers, and another thread may have taken the completion.
template <class Ring>
bool is_quiet(const Ring& ring) {
  return ring.watched.load(std::memory_order_seq_cst) != 0 &&
         ring.produced.load(std::memory_order_seq_cst) ==
             ring.consumed.load(std::memory_order_acquire);
}

// Called by the program after polls found no completion in any of `rings`, a range of pointers to
// CompletionRing. It marks them as watched and blocks in `sleep(seen)`, unless a completion has
// arrived. `sleep(seen)` must sleep as long as `page.doorbell` has the value `seen`; it may return
// earlier.
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
