// How much of a message moves while its program computes: what different benchmarks call so.
//
// OSU (OMB 5.9) computes for a time and counts the time, so it does not see that something took the
// processor meanwhile; IMB computes a fixed amount and counts what that took during the message, so
// it sees a part; NBCBench (offload thesis, section 3.3.3) counts the amount alone, and sees all.
// Pure.
#pragma once

namespace scela::perf {

// Microseconds, from the first call to the end of the last.
struct OverlapTimes {
  double blocking = 0;      // of the blocking call
  double pure = 0;          // non-blocking, nothing in between
  double work = 0;          // the amount of work, alone
  double work_during = 0;   // the same, between the calls
  double overlapped = 0;    // both calls and the work in between
  double timed = 0;         // work for a time, between the calls: how long it was
  double timed_during = 0;  // both calls and that work
};

// Percent. Those of OSU and IMB end at 0 and 100 as theirs do; NBCBench's is as it comes.
struct Overlap {
  double osu = 0;
  double imb = 0;      // since 2018: by the longer of message and work
  double imb_old = 0;  // by the shorter
  double nbcbench = 0;
  double availability = 0;  // the work alone, of both together
};
Overlap overlap_of(const OverlapTimes& times);

// What of an operation is not hidden by as much work as `work`, done in parts between which the
// operation is helped on (N5): microseconds, and what NBCBench calls overlap.
struct Overhead {
  double us = 0;
  double nbcbench = 0;
};
Overhead overhead_of(double overlapped_us, double work_us, double blocking_us);

// Of a delay on the one side, what the other side's message took longer; percent.
double propagated(double plain_us, double delayed_us, double delay_us);

}  // namespace scela::perf
