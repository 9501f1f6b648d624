#include "perf/core/overlap.h"

#include <algorithm>

namespace scela::perf {

namespace {

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

}  // namespace

Overlap overlap_of(const OverlapTimes& times) {
  Overlap overlap;
  overlap.osu = std::clamp(100 - percent(times.timed_during - times.timed, times.pure), 0.0, 100.0);
  const double hidden = times.pure + times.work_during - times.overlapped;
  const auto [shorter, longer] = std::minmax(times.pure, times.work_during);
  overlap.imb = std::clamp(percent(hidden, longer), 0.0, 100.0);
  overlap.imb_old = std::clamp(percent(hidden, shorter), 0.0, 100.0);
  overlap.nbcbench = overhead_of(times.overlapped, times.work, times.blocking).nbcbench;
  overlap.availability = percent(times.work, times.overlapped);
  return overlap;
}

Overhead overhead_of(double overlapped_us, double work_us, double blocking_us) {
  const double us = overlapped_us - work_us;
  return {us, 100 - percent(us, blocking_us)};
}

double propagated(double plain_us, double delayed_us, double delay_us) {
  return percent(delayed_us - plain_us, delay_us);
}

}  // namespace scela::perf
