// The overlap of a message with computation, as different benchmarks define it.
//
// OSU (OMB 5.9) computes for a fixed time and counts that time, so it does not see processor time
// that others take meanwhile. IMB computes a fixed amount and counts the time of that amount during
// the message, so it sees a part of it. NBCBench (offload thesis, section 3.3.3) counts the amount
// alone, and sees all of it. All functions are pure.
#pragma once

namespace scela::perf {

// The measured times of an operation, in microseconds, from the first call to the end of the last.
struct OverlapTimes {
  double blocking = 0;     // of the blocking call
  double pure = 0;         // non-blocking, without work in between
  double work = 0;         // the amount of work, alone
  double work_during = 0;  // the same amount, between the calls
  double overlapped = 0;   // both calls and the work in between
  // The duration of work for a fixed time, between the calls.
  double timed = 0;
  double timed_during = 0;  // both calls and that work
};

// The overlap in percent, by the definition of each benchmark. OSU's and IMB's are limited to 0 and
// 100 as in those benchmarks; NBCBench's is not limited.
struct Overlap {
  double osu = 0;
  double imb = 0;      // since 2018: by the longer of the two
  double imb_old = 0;  // by the shorter
  double nbcbench = 0;
  double availability = 0;  // work alone, as part of both together
};
// Returns the overlap by each definition.
Overlap overlap_of(const OverlapTimes& times);

// The microseconds of an operation that are not hidden by the work, and NBCBench's overlap in
// percent. The work is done in parts, between which the operation is advanced (N5).
struct Overhead {
  double us = 0;
  double nbcbench = 0;
};
// Returns both from the microseconds of the operation with the work, of the work alone, and of the
// blocking operation.
Overhead overhead_of(double overlapped_us, double work_us, double blocking_us);

// Returns how much longer the other side's message took, in percent of the delay of one side.
// `plain_us` is its time without the delay, and `delayed_us` its time with it.
double propagated(double plain_us, double delayed_us, double delay_us);

}  // namespace scela::perf
