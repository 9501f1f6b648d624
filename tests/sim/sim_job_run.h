// One run of a schedule: its virtual time, the tasks that are due, its random numbers and its
// result.
//
// All parts of a World share its Run. The first call of fail() ends the run. One thread uses a Run.
#pragma once

#include <cstdint>
#include <string>

#include "common/core/random.h"
#include "tests/sim/sim_schedule.h"
#include "tests/sim/tasks.h"

namespace scela::sim {

struct RunResult {
  std::string failure;  // empty: every invariant held
  std::uint64_t hash = 0;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::uint64_t max_held = 0;  // bytes, any agent
  Micros ended_at = 0;         // the launcher's last action
  std::uint32_t ranks = 0;     // started
  bool timed_out = false;      // with a reason
  bool ok() const { return failure.empty(); }
};

// The part of the schedule's faults, signals and changes of the terminal's size.
enum class Planned : std::uint8_t {
  from_beginning,  // their times count from the beginning
  after_launch,    // their times count from event::Launch
};

struct Run {
  explicit Run(const Schedule& played) : schedule(played), random(played.delay_seed) {}

  // Adds a task that is due `delay` microseconds from now.
  void after(Micros delay, TaskKind kind, std::uint32_t a = 0, std::uint32_t b = 0,
             std::uint64_t c = 0) {
    tasks.add(now + delay, kind, a, b, c);
  }
  // Adds the faults, signals and changes of size of this part. Their times count from now.
  void plan(Planned part);
  // Adds three numbers to the hash of the run.
  void note(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0);
  // An invariant is broken. The first one is the result of the run.
  void fail(const std::string& what);
  bool ok() const { return result.ok(); }
  // Returns how many checks were counted before. A check that costs much is made once in a number
  // of times.
  std::uint64_t count_check() { return checks_++; }

  const Schedule schedule;
  Random random;
  TaskQueue tasks;
  Micros now = 0;
  RunResult result;

 private:
  std::uint64_t checks_ = 0;
};

}  // namespace scela::sim
