// Measures an operation that is begun, work beside it, and its end: the time of each. The operation
// (`Act`) is a message or a collective operation.
//
// If all ranks share one processor (--apart), that is the time of all of them together. Times count
// from when the first rank began until the last has ended, and each rank has its part of the work.
// A rank that has begun yields to the others so that they begin before it computes. With a
// processor for each rank it could not delay them.
//
// Each rank uses it from one thread. The file uses only the standard library and Linux, because the
// mpicxx of each peer compiles it.
#pragma once

#include <sched.h>

#include <algorithm>
#include <array>
#include <vector>

#include "perf/job_processes.h"
#include "perf/together.h"

namespace scela::perf {

// Does `units` steps of work that a compiler cannot remove, and that needs no memory. The result
// has no meaning.
inline double work_of(long units) {
  volatile double value = 1;
  for (long i = 0; i < units; ++i)
    value = value * 0.999999 + 1e-6;
  return value;
}

// Work that takes a given time.
class Work {
 public:
  // Measures how much work a microsecond takes. The fastest of many short runs counts: in the
  // others, another process had the processor.
  Work() {
    constexpr long kUnits = 20000;
    for (int times = 0; times < 50; ++times) {
      const double begin = now();
      work_of(kUnits);
      const double us = std::max((now() - begin) * 1e6, 1e-3);
      units_per_us_ = std::max(units_per_us_, static_cast<double>(kUnits) / us);
    }
  }
  // Does a fixed amount of work: as much as takes `us` microseconds if nothing else runs.
  void amount(double us) const { work_of(units(us)); }
  // Does the same amount of work in `calls` + 1 parts, and calls `between` between them.
  template <class Call>
  void parts(double us, std::size_t calls, Call between) const {
    const long all = units(us), count = static_cast<long>(calls) + 1;
    long done = 0;
    for (long part = 1; part <= count; ++part) {
      const long until = all / count * part + all % count * part / count;
      work_of(until - done);
      done = until;
      if (part < count) between();
    }
  }
  // Works until `us` microseconds have passed, however much work that is.
  void time(double us) const {
    for (const double until = now() + us / 1e6; now() < until;)
      work_of(static_cast<long>(units_per_us_));
  }

 private:
  // Returns the steps of work_of() that take so long.
  long units(double us) const { return static_cast<long>(us * units_per_us_); }
  double units_per_us_ = 1;
};

// The work that a rank does between the begin and the end of an operation. `amount`, `parts` and
// `time` name functions of Work. With `parts`, help() of the operation is called in between.
enum class Between { nothing, amount, parts, time };

// The times of a rank's part, in microseconds. `all` is the time of all of it. `begun` is that of
// the call that begins, `between` that of the work, and `ended` that of the call that ends.
// `processor` is the processor time of this process.
struct Times {
  double all = 0, between = 0, begun = 0, ended = 0, processor = 0;
};

// One figure of each kind for a round, in microseconds. `blocking` is the time of the blocking
// call. `amount` is the work that was done beside it. `work` is how long that takes alone, and
// `work_processor` its processor time. `others` is the processor time of engines and agents. `pure`
// is without work, `overlapped` with the amount, and `timed` with work for a fixed time.
struct OverlapRound {
  double blocking = 0, amount = 0, work = 0, work_processor = 0, others = 0;
  Times pure, overlapped, timed;
};

// Measures one operation on one rank. All ranks make the same calls.
//
// `Act` has void blocking(), void begin(), void end() and bool takes_part(), which returns whether
// this rank takes part. For Between::parts it has void help(), which advances what was begun.
template <class Peer, class Act>
class Overlapping {
 public:
  // `peer` and `plan` must outlive the object.
  Overlapping(Peer& peer, const Plan& plan, Act act) : peer_(peer), plan_(plan), act_(act) {}

  // Returns how often the operation fits in a part of a round (1 to 1000), which is the same on
  // every rank.
  long calibrate() {
    blocking();
    double us = std::max(several(4, Between::nothing, 0).all, 0.1);
    broadcast_from_0(peer_, us);
    return std::clamp(static_cast<long>(plan_.round_seconds * 1e6 / us / 5), 1L, 1000L);
  }

  // Measures one round of `times` operations of each kind. All ranks must call it.
  OverlapRound round(long times) {
    OverlapRound round;
    for (long i = 0; i < times; ++i)
      round.blocking += blocking() / static_cast<double>(times);
    round.pure = several(times, Between::nothing, 0);
    // All ranks compute for as long as the slowest rank's part takes.
    double us = round.pure.all;
    const std::vector<double> all = gather_at_0(peer_, us);
    us = *std::max_element(all.begin(), all.end());
    broadcast_from_0(peer_, us);
    round.amount = us;
    for (long i = 0; i < times; ++i) {
      barrier(peer_);
      const double begin = now(), cpu = own_processor_time();
      if (act_.takes_part()) work_.amount(us / sharers());
      const double end = now();
      round.work += taken(begin, end) / static_cast<double>(times);
      round.work_processor += (own_processor_time() - cpu) / static_cast<double>(times);
    }
    const double others = others_time();
    // The threads that move messages were idle during the measurements of work, so the first
    // operation finds cold caches.
    once(Between::amount, us);
    round.overlapped = several(times, Between::amount, us);
    barrier(peer_);
    round.others = (others_time() - others) / static_cast<double>(times + 1);
    once(Between::time, us);
    round.timed = several(times, Between::time, us);
    return round;
  }

  // Returns the mean of `times` runs of once().
  Times several(long times, Between between, double us, std::size_t helps = 0) {
    Times sum;
    for (long i = 0; i < times; ++i) {
      const Times took = once(between, us, helps);
      for (double Times::*const member : kMembers)
        sum.*member += took.*member / static_cast<double>(times);
    }
    return sum;
  }

  // Runs the operation once, with work of `us` microseconds in between. `helps` is the number of
  // calls of help(), for Between::parts only. Ranks that take no part only wait.
  Times once(Between between, double us, std::size_t helps = 0) {
    Times took;
    barrier(peer_);
    if (!act_.takes_part()) {
      const double nothing = now();
      taken(nothing, nothing);
      return took;
    }
    const double cpu = own_processor_time();
    const double begin = now();
    act_.begin();
    const double begun = now();
    let_others();
    if (between == Between::amount) work_.amount(us / sharers());
    if constexpr (requires { act_.help(); })
      if (between == Between::parts) work_.parts(us / sharers(), helps, [this] { act_.help(); });
    if (between == Between::time) work_.time(us / sharers());
    const double computed = now();
    act_.end();
    const double end = now();
    took.processor = own_processor_time() - cpu;
    took.all = taken(begin, end);
    took.begun = (begun - begin) * 1e6;
    took.between = (computed - begun) * 1e6;
    took.ended = (end - computed) * 1e6;
    return took;
  }

 private:
  // Returns how many ranks share this rank's processor, itself included.
  int sharers() const { return plan_.apart ? peer_.size() : 1; }
  // Lets the ranks run that share this rank's processor.
  void let_others() const {
    for (int other = 1; other < sharers(); ++other)
      sched_yield();
  }
  // Returns the microseconds of an operation that began and ended at these times. They are this
  // rank's own if each rank has a processor. For ranks that share a processor, and so a clock, they
  // count from the first rank's begin to the last rank's end. The order of the ranks varies.
  double taken(double begin, double end) {
    if (!plan_.apart) return (end - begin) * 1e6;
    let_others();  // they end before any rank polls
    struct Part {
      double begin, end;
    };
    const std::vector<Part> all = gather_at_0(peer_, Part{begin, end});
    Part whole = all.front();
    for (const Part& part : all) {
      whole.begin = std::min(whole.begin, part.begin);
      whole.end = std::max(whole.end, part.end);
    }
    broadcast_from_0(peer_, whole);
    return (whole.end - whole.begin) * 1e6;
  }
  // Returns the microseconds of the blocking call.
  double blocking() {
    barrier(peer_);
    const double begin = now();
    if (act_.takes_part()) act_.blocking();
    const double end = now();
    return taken(begin, end);
  }
  // Returns on rank 0 the microseconds of processor time of the helpers of the ranks: engines and
  // agents. Returns 0 on other ranks.
  double others_time() {
    const std::vector<long> ranks = gather_at_0(peer_, static_cast<long>(::getpid()));
    double us = 0;
    if (peer_.rank() != 0) return us;
    for (const long process : descendants(plan_.driver))
      if (std::find(ranks.begin(), ranks.end(), process) == ranks.end())
        us += processor_time_of(process);
    return us;
  }

  static constexpr std::array<double Times::*, 5> kMembers{
      &Times::all, &Times::between, &Times::begun, &Times::ended, &Times::processor};

  Peer& peer_;
  const Plan& plan_;
  Act act_;
  Work work_;
};

// Adds one more value to the figure `name` of the line; a new figure gets its first value.
inline void add(Line& line, const char* name, double value) {
  for (auto& [known, numbers] : line.values)
    if (known == name) return numbers.push_back(value);
  line.values.push_back({name, {value}});
}

// Adds a round's times to the line, as the figures from which perf/core/report.h computes overlap.
inline void note(const OverlapRound& round, Line& line) {
  add(line, "blocking_us", round.blocking);
  add(line, "pure_us", round.pure.all);
  add(line, "work_us", round.work);
  add(line, "work_processor_us", round.work_processor);
  add(line, "work_during_us", round.overlapped.between);
  add(line, "begin_us", round.overlapped.begun);
  add(line, "end_us", round.overlapped.ended);
  add(line, "timed_us", round.timed.between);
  add(line, "timed_during_us", round.timed.all);
  add(line, "processor_us", round.overlapped.processor);
  add(line, "others_processor_us", round.others);
}

}  // namespace scela::perf
