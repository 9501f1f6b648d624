// Runs a few threads in every order of their steps, up to a bound. Each step is one access to what
// they share. So an error that only one order of a million has is found each time.
//
// The threads are fibers of one thread, so every execution can be repeated, also one that fails. An
// execution begins anew with `setup`, which makes what the threads share (Explored) and the
// threads.
//
// Memory is as x86 has it. A store that is not sequentially consistent waits in a buffer of its
// thread, in which others do not see it, for as long as it likes, or until that thread does
// something sequentially consistent. Loads and stores are otherwise seen in their order.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

namespace scela::test {

// Each switch from a thread that could go on is a preemption. All executions with at most
// `preemptions` of them are run.
struct Bounds {
  int preemptions = 3;
  std::uint64_t executions = 3'000'000;
  int steps = 2000;  // of an execution: more are one that does not end
};

class Interleavings {
 public:
  struct Found {
    std::uint64_t executions = 0;
    bool all = false;     // none is left within the bounds
    std::string problem;  // empty: none; what went wrong first, and in what order
  };
  using Body = std::function<void()>;
  static Found explore(const Bounds& bounds, const std::function<void(Interleavings&)>& setup);

  // Every execution runs this thread to its end. An execution fails if the thread waits when no
  // other thread can do anything.
  void thread(std::string name, Body body);
  // A thread that may wait for ever.
  void daemon(std::string name, Body body);
  // A thread that may be killed at any of its steps. `after` is what its system does then.
  void mortal(std::string name, Body body, Body after);
  // Runs the check when an execution has ended well.
  void at_end(Body body);

  Interleavings(const Interleavings&) = delete;
  Interleavings& operator=(const Interleavings&) = delete;

  class Run;

 private:
  explicit Interleavings(Run& run) : run_(run) {}
  Run& run_;
};

// The threads call these. At a step, other threads may run before what follows.
void step();
// Sleeps until the condition holds. The condition must read what all threads see (seen()).
void wait_until(std::function<bool()> holds);
// A thread that looks again and again uses this: pass() returns once others have taken a step since
// the object was made.
class Turn {
 public:
  Turn();
  void pass() const;

 private:
  std::uint64_t seen_;
};
// Makes what any thread has stored until now visible to all threads, as membarrier does.
void everybody_sees();
// Ends the execution if the condition does not hold.
void expect(bool holds, const char* what);

// The accesses below use these. `cell` has the value that all threads see.
namespace explored {
using Cell = std::uint64_t;
Cell load(const Cell& cell);
void store(Cell& cell, Cell value, bool buffered);
Cell exchange(Cell& cell, const std::function<Cell(Cell)>& change);
}  // namespace explored

// Stands for std::atomic.
template <class T>
class Explored {
 public:
  Explored(T value = {}) : cell_(static_cast<explored::Cell>(value)) {}  // NOLINT: as std::atomic
  Explored(const Explored&) = delete;
  Explored& operator=(const Explored&) = delete;

  T load(std::memory_order = std::memory_order_seq_cst) const {
    return static_cast<T>(explored::load(cell_));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    explored::store(cell_, static_cast<explored::Cell>(value), order != std::memory_order_seq_cst);
  }
  T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
    return change([value](T) { return value; });
  }
  T fetch_add(T value, std::memory_order = std::memory_order_seq_cst) {
    return change([value](T old) { return static_cast<T>(old + value); });
  }
  T fetch_sub(T value, std::memory_order = std::memory_order_seq_cst) {
    return change([value](T old) { return static_cast<T>(old - value); });
  }
  T fetch_or(T value, std::memory_order = std::memory_order_seq_cst) {
    return change([value](T old) { return static_cast<T>(old | value); });
  }
  bool compare_exchange_strong(T& expected, T value,
                               std::memory_order = std::memory_order_seq_cst) {
    const T wanted = expected;
    expected = change([=](T old) { return old == wanted ? value : old; });
    return expected == wanted;
  }
  // Returns the value that all threads see, without a step. The conditions of wait_until use it,
  // and code that runs afterwards.
  T seen() const { return static_cast<T>(cell_); }
  // Sets the value at once, without a step, for what a system does by itself.
  void set(T value) { cell_ = static_cast<explored::Cell>(value); }

 private:
  template <class Change>
  T change(Change by) {
    return static_cast<T>(explored::exchange(cell_, [&](explored::Cell old) {
      return static_cast<explored::Cell>(by(static_cast<T>(old)));
    }));
  }
  explored::Cell cell_;
};

// Works as a futex: a thread sleeps if the word is still what it has seen.
class Futexes {
 public:
  template <class T>
  void wait(const Explored<T>& word, T seen) {
    step();
    if (word.seen() != seen) return;
    const std::uint64_t woken = wakes_;
    wait_until([this, woken] { return wakes_ != woken; });
  }
  void wake() {
    step();
    ++wakes_;
  }

 private:
  std::uint64_t wakes_ = 0;
};

// Works as std::shared_mutex. Readers may pass a writer that waits.
class ExploredLock {
 public:
  void lock() {
    wait_until([this] { return readers_ == 0 && !alone_; });
    alone_ = true;
  }
  void unlock() { alone_ = false; }
  void lock_shared() {
    wait_until([this] { return !alone_; });
    ++readers_;
  }
  void unlock_shared() { --readers_; }
  int readers() const { return readers_; }

 private:
  int readers_ = 0;
  bool alone_ = false;
};

// Explores as far as the environment says: SCELA_INTERLEAVINGS sets how many preemptions an
// execution may have. Without it, a test takes the few that its time allows.
inline Interleavings::Found explore(int preemptions,
                                    const std::function<void(Interleavings&)>& setup) {
  const char* const more = std::getenv("SCELA_INTERLEAVINGS");
  Bounds bounds;
  bounds.preemptions = more != nullptr ? std::atoi(more) : preemptions;
  if (more != nullptr) bounds.executions = ~0ULL;
  return Interleavings::explore(bounds, setup);
}

// Checks that no order fails, and that there are more than `least` of them.
inline void passes(const Interleavings::Found& found, std::uint64_t least = 100) {
  INFO(found.executions << " executions");
  CHECK(found.problem == "");
  CHECK((found.all || !found.problem.empty()));
  CHECK(found.executions > least);
}

// Checks that an order fails, and that the problem has this text.
inline void fails(const Interleavings::Found& found, const std::string& how) {
  INFO(found.executions << " executions: " << found.problem);
  CHECK(found.problem.find(how) != std::string::npos);
}

}  // namespace scela::test
