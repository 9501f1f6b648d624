// The steps by which a program and its engine do not miss each other: who has something says so,
// then looks whether the other sleeps; who wants to sleep says so, then looks whether there is
// something. Both in one order for all, so that at least one of them sees the other.
//
// Templates of the structures in layout.h: tests/unit/hca/interleavings_test.cpp runs these very
// steps in every order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "hca/core/layout.h"

namespace scela::hca {

// The program: a queue has something new, which an engine that is awake sees.
template <class Page>
void mark(Page& page, std::uint32_t bell) {
  const std::uint32_t word = bell % kBells / 64;
  page.words[word].fetch_or(1ULL << (bell % 64), std::memory_order_release);
  page.summary.fetch_or(1ULL << word, std::memory_order_seq_cst);
}
// The same. True: the engine sleeps, and the caller must wake it.
template <class Page, class Engine>
bool ring(Page& page, Engine& engine, std::uint32_t bell) {
  mark(page, bell);
  return engine.asleep.load(std::memory_order_seq_cst) != 0 &&
         engine.asleep.exchange(0, std::memory_order_seq_cst) != 0;
}

// The engine: whether a bell of this process was rung since take_bells().
template <class Page>
bool has_rung(const Page& page) {
  return page.summary.load(std::memory_order_seq_cst) != 0;
}

template <class Page, class Each>
void take_bells(Page& page, Each each) {
  if (page.summary.load(std::memory_order_relaxed) == 0) return;
  std::uint64_t words = page.summary.exchange(0, std::memory_order_acquire);
  for (; words != 0; words &= words - 1) {
    const auto word = static_cast<std::uint32_t>(__builtin_ctzll(words));
    std::uint64_t bits = page.words[word].exchange(0, std::memory_order_acquire);
    for (; bits != 0; bits &= bits - 1)
      each(word * 64 + static_cast<std::uint32_t>(__builtin_ctzll(bits)));
  }
}

// The engine is about to sleep. False: there is something to do after all.
template <class Engine, class Wanted>
bool may_sleep(Engine& engine, Wanted wanted) {
  engine.asleep.store(1, std::memory_order_seq_cst);
  return !wanted();
}

template <class Engine>
void wake_up(Engine& engine) {
  engine.asleep.store(0, std::memory_order_seq_cst);
}

// The program: receives before `end` are posted, or sends that are held: they are looked at when
// something comes, or is enabled. True: the engine wants a bell all the same.
template <class Ring>
bool post_silently(Ring& ring, std::uint64_t end) {
  ring.posted.store(end, std::memory_order_seq_cst);
  return ring.ring_on_post.load(std::memory_order_seq_cst) != 0;
}

// The engine: from now on a bell for what is posted; then it looks at what was posted before.
template <class Ring>
void want_bells(Ring& ring) {
  ring.ring_on_post.store(1, std::memory_order_seq_cst);
}
// All that may be executed is posted: what is posted behind it needs no bell.
template <class Ring>
void want_no_bells(Ring& ring) {
  if (ring.ring_on_post.load(std::memory_order_relaxed) != 0)
    ring.ring_on_post.store(0, std::memory_order_seq_cst);
}
template <class Ring>
std::uint64_t posted_to(const Ring& ring) {
  return ring.posted.load(std::memory_order_seq_cst);
}

// The engine: completions before `end` stand in the ring. Then it looks who is to be told.
template <class Ring>
void show_completions(Ring& ring, std::uint64_t end) {
  ring.produced.store(end, std::memory_order_seq_cst);
}
// True: polls sleep, or are about to, and must be woken.
template <class Ring>
bool take_watch(Ring& ring) {
  return ring.watched.load(std::memory_order_seq_cst) != 0 && ring.watched.exchange(0) != 0;
}
// True: the program's channel gets an event.
template <class Ring>
bool take_arming(Ring& ring, bool urgent) {
  const auto armed = static_cast<Armed>(ring.armed.load(std::memory_order_seq_cst));
  return (armed == Armed::any || (armed == Armed::solicited && urgent)) &&
         ring.armed.exchange(0) != 0;
}

// The program: it wants an event, and polls once more before it waits for that.
template <class Ring>
void arm(Ring& ring, bool solicited_only) {
  if (!solicited_only) {
    ring.armed.store(static_cast<std::uint32_t>(Armed::any), std::memory_order_seq_cst);
    return;
  }
  // Who is to hear of any is to hear of solicited ones as well.
  auto unarmed = static_cast<std::uint32_t>(Armed::no);
  ring.armed.compare_exchange_strong(unarmed, static_cast<std::uint32_t>(Armed::solicited),
                                     std::memory_order_seq_cst);
}

// Nothing came since it was marked as watched. Where it is not any more, the engine has woken those
// who slept then, and another thread may have taken what came.
template <class Ring>
bool is_quiet(const Ring& ring) {
  return ring.watched.load(std::memory_order_seq_cst) != 0 &&
         ring.produced.load(std::memory_order_seq_cst) ==
             ring.consumed.load(std::memory_order_acquire);
}

// The program: polls found nothing in any of these queues. `sleep(seen)` sleeps until `bell` is not
// `seen`; it is not called if something has come.
template <class Page, class Rings, class Sleep>
void sleep_until_bell(Page& page, const Rings& rings, Sleep sleep) {
  for (auto* const each : rings)
    each->watched.store(1, std::memory_order_seq_cst);
  page.waiters.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = page.bell.load(std::memory_order_seq_cst);
  if (std::all_of(rings.begin(), rings.end(), [](const auto* each) { return is_quiet(*each); }))
    sleep(seen);
  page.waiters.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace scela::hca
