// Tests how much of a message a computation hides, by each definition.
#include "perf/core/overlap.h"

#include <catch2/catch.hpp>

namespace scela::perf::overlap_test {
namespace {

OverlapTimes times_of(double pure, double work, double during, double overlapped, double timed,
                      double timed_during) {
  return {pure, pure, work, during, overlapped, timed, timed_during};
}

TEST_CASE("perf overlap: nothing hidden is nothing by all definitions, all is all") {
  const Overlap none = overlap_of(times_of(100, 100, 100, 200, 100, 200));
  CHECK(none.osu == Approx(0));
  CHECK(none.imb == Approx(0));
  CHECK(none.imb_old == Approx(0));
  CHECK(none.nbcbench == Approx(0));
  CHECK(none.availability == Approx(50));
  const Overlap all = overlap_of(times_of(100, 100, 100, 100, 100, 100));
  CHECK(all.osu == Approx(100));
  CHECK(all.imb == Approx(100));
  CHECK(all.imb_old == Approx(100));
  CHECK(all.nbcbench == Approx(100));
  CHECK(all.availability == Approx(100));
}

TEST_CASE("perf overlap: a thread that takes the processor is not seen by OSU, by IMB in part") {
  // Work of 100 us takes 150 us beside a thread of the library on the same core.
  const Overlap stolen = overlap_of(times_of(100, 100, 150, 155, 100, 105));
  CHECK(stolen.osu == Approx(95));
  CHECK(stolen.imb == Approx(100.0 * 95 / 150));
  CHECK(stolen.imb_old == Approx(95));
  CHECK(stolen.nbcbench == Approx(45));
  CHECK(stolen.availability == Approx(100.0 * 100 / 155));
}

TEST_CASE(
    "perf overlap: percentages of others' definitions end at 0 and 100, and nothing is divided by "
    "0") {
  const Overlap worse = overlap_of(times_of(100, 100, 100, 350, 100, 350));
  CHECK(worse.osu == 0);
  CHECK(worse.imb == 0);
  CHECK(worse.nbcbench == Approx(-150));
  const Overlap zero = overlap_of({});
  CHECK(zero.osu == 100);
  CHECK(zero.imb == 0);
  CHECK(zero.availability == 0);
}

TEST_CASE("perf overlap: overhead is what work does not hide, by the blocking time NBCBench's") {
  const Overhead all = overhead_of(200, 100, 100);
  CHECK(all.us == Approx(100));
  CHECK(all.nbcbench == Approx(0));
  const Overhead some = overhead_of(110, 100, 40);
  CHECK(some.us == Approx(10));
  CHECK(some.nbcbench == Approx(75));
  CHECK(overhead_of(95, 100, 50).us == Approx(-5));
  CHECK(overhead_of(95, 100, 0).nbcbench == Approx(100));
}

TEST_CASE("perf overlap: the share of a delay that reaches another rank") {
  CHECK(propagated(10, 1000010, 1e6) == Approx(100));
  CHECK(propagated(10, 20010, 1e6) == Approx(2));
  CHECK(propagated(10, 10, 1e6) == Approx(0));
}

}  // namespace
}  // namespace scela::perf::overlap_test
