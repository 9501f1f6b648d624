// Formats the output of --stats and writes the file of --trace: phases, counters and spans of a
// finished job. The session uses it, in its one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/result.h"
#include "launcher/plan/plan.h"
#include "launcher/report/rank_counters.h"
#include "launcher/report/report_lines.h"
#include "nla/core/wire/agent_messages.h"

namespace scela {

// The moments of a job's phases. They are times on the launcher's monotonic clock, in nanoseconds.
// 0 means that the phase was not reached.
struct Phases {
  std::int64_t begin = 0;     // scela-run began
  std::int64_t tree = 0;      // the start of the agents was requested
  std::int64_t ready = 0;     // the agents were ready
  std::int64_t launched = 0;  // all ranks were started
  std::int64_t ended = 0;     // all ranks ended; no process of them left
  std::int64_t gone = 0;      // the last agent had left
};

// The size of a job and of its tree of agents.
struct JobNumbers {
  std::uint32_t nodes = 0;
  std::uint32_t ranks = 0;
  // The largest number of children of an agent.
  std::uint32_t degree = 0;
  // The number of levels of agents.
  std::uint32_t depth = 0;
};
// Returns the numbers of the plan. `unspawned` has the ranks that could not be spawned; they are
// not counted.
JobNumbers numbers_of(const Plan& plan, const RankSet& unspawned);

// Returns the names of the phases and their durations in microseconds; std::nullopt if the end of a
// phase was not reached. The last one is "total".
std::vector<std::pair<std::string, std::optional<std::uint64_t>>> phase_times(const Phases& phases);

// Returns milliseconds per phase, messages, bytes, the peak memory of the largest agent, and the
// counters of the ranks, as lines for a terminal. `stats` has the numbers that the agents reported.
std::string stats_text(const Phases& phases, const JobNumbers& job, const nla::Stats& stats,
                       const RankCounters& counters);
// Returns the same numbers as one JSON object on one line.
std::string stats_json(const Phases& phases, const JobNumbers& job, const nla::Stats& stats,
                       const RankCounters& counters);

// Collects the JSON lines that agents send about their spans (named periods of time) and writes
// them as one Chrome trace: an array of events for a trace viewer. Each node is one process of the
// trace, and the launcher is process 0.
class TraceFile {
 public:
  // Creates the file. It must be called before the job runs, so that an unwritable path does not
  // waste a run. Returns an error (kind io) if the file cannot be written.
  Result<void> open(const std::string& path);
  // Takes the spans from the next piece of the report of node number `node`. It does nothing before
  // open().
  void add(std::uint32_t node, std::string_view piece);
  // Adds the phases of scela-run as spans of process 0. It must be called after open().
  void add_launcher(const Phases& phases);
  // Ends the array and closes the file. Returns an error (kind io) if something could not be
  // written.
  Result<void> write();

 private:
  std::string path_;
  std::ofstream file_;
  ReportLines lines_;
};

}  // namespace scela
