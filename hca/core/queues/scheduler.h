// The turns of queue pairs: which one runs next, and which ones wait for a time. A queue pair that
// has something to do is scheduled, which means that it is put on a list. Later it gets a turn, in
// which it executes requests for a bounded time.
//
// The scheduler also has the interpreter's time, which the caller of the engine passes. All parts
// that change what a queue pair can do schedule it here; the engine gives each its turn. The
// interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "common/core/random.h"
#include "hca/core/model/object_tables.h"

namespace scela::hca {

// The list of queue pairs that run next, their timers, and the time.
class Scheduler {
 public:
  // If `is_strict`, the next queue pair is drawn from `random`, or else the one that has waited
  // longest is next. Both references must live as long as the scheduler.
  Scheduler(const ObjectTables& objects, Random& random, bool is_strict)
      : objects_(objects), random_(random), is_strict_(is_strict) {}

  // The time in nanoseconds, as last set.
  Moment now() const { return now_; }
  void set_time(Moment now) { now_ = now; }

  // Puts the queue pair at the end of the list, unless it is on it already.
  void schedule(Qp& qp) {
    if (qp.scheduled) return;
    qp.scheduled = true;
    runnable_.push_back(qp.handle);
  }
  // Schedules each queue pair of these numbers (handles), in their order. Numbers of destroyed ones
  // are ignored.
  template <class Numbers>
  void schedule_all(const Numbers& qpns) {
    schedule_all(qpns.begin(), qpns.end());
  }
  // Schedules those of a part of a range of such numbers.
  template <class Iterator>
  void schedule_all(Iterator begin, Iterator end) {
    for (; begin != end; ++begin)
      if (Qp* const qp = objects_.find<Qp>(*begin)) schedule(*qp);
  }
  // Returns true if a queue pair is on the list.
  bool has_next() const { return !runnable_.empty(); }
  // Removes the next queue pair from the list and returns it, or null if that queue pair was
  // destroyed. has_next() must be true.
  Qp* next() {
    if (is_strict_) std::swap(runnable_.front(), runnable_[random_.below(runnable_.size())]);
    const std::uint32_t number = runnable_.front();
    runnable_.pop_front();
    Qp* const qp = objects_.find<Qp>(number);
    if (qp) qp->scheduled = false;
    return qp;
  }

  // Sets the time before which the queue pair sends nothing (Qp::until), or removes it. The queue
  // pair is scheduled when the time comes.
  void wait_until(Qp& qp, std::optional<Moment> moment);
  // Sets the time at which a held sending step gives up (Qp::patience), or removes it. The queue
  // pair is scheduled when the time comes.
  void limit_wait(Qp& qp, std::optional<Moment> moment) {
    if (qp.patience || moment) set_limit(qp, moment);
  }
  // Schedules the queue pairs with timers that are due at now().
  void run_timers() {
    while (!timers_.empty() && timers_.begin()->first <= now_)
      run_first_timer();
  }
  // Returns the time of the first timer, or std::nullopt if there is none.
  std::optional<Moment> next_timer() const;

  // Counts the bytes that were moved since the last reset_moved_bytes(). They limit one run of the
  // engine.
  void reset_moved_bytes() { moved_bytes_ = 0; }
  void add_moved_bytes(std::uint64_t bytes) { moved_bytes_ += bytes; }
  std::uint64_t moved_bytes() const { return moved_bytes_; }

 private:
  // Does what limit_wait() says.
  void set_limit(Qp& qp, std::optional<Moment> moment);
  // Removes the first timer, and schedules its queue pair if that still exists.
  void run_first_timer();

  const ObjectTables& objects_;
  Random& random_;
  bool is_strict_;
  Moment now_ = 0;
  std::deque<std::uint32_t> runnable_;                 // queue pairs
  std::set<std::pair<Moment, std::uint32_t>> timers_;  // queue pairs
  std::uint64_t moved_bytes_ = 0;
};

}  // namespace scela::hca
