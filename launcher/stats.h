// What --stats prints and what --trace writes: phases, counts and spans of a finished job.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "launcher/plan.h"
#include "launcher/rank_accounts.h"
#include "launcher/report_lines.h"
#include "nla/core/messages.h"

namespace scela {

// Moments on the launcher's monotonic clock, in nanoseconds; 0: never came.
struct Phases {
  std::int64_t begin = 0;     // scela-run began
  std::int64_t tree = 0;      // the first agent was asked for
  std::int64_t ready = 0;     // every agent was there
  std::int64_t launched = 0;  // every rank was started
  std::int64_t ended = 0;     // every rank had ended and every node was clean
  std::int64_t gone = 0;      // the last agent had left
};

struct JobNumbers {
  std::uint32_t nodes = 0;
  std::uint32_t ranks = 0;
  std::uint32_t degree = 0;
  std::uint32_t depth = 0;
  std::uint64_t launcher_messages = 0;
};
// `unspawned`: ranks of the job that were not to be.
JobNumbers numbers_of(const Plan& plan, const RankSet& unspawned);

// Milliseconds per phase, messages, bytes, the peak memory of the largest agent, and what ranks
// have told.
std::string stats_text(const Phases& phases, const JobNumbers& job, const nla::Stats& stats,
                       const RankAccounts& accounts);
std::string stats_json(const Phases& phases, const JobNumbers& job, const nla::Stats& stats,
                       const RankAccounts& accounts);

// Collects the JSON lines that agents send and writes them as one Chrome trace (an array of events;
// load it in a trace viewer). One process per node, the launcher is process 0.
class TraceFile {
 public:
  // Before the job runs: what cannot be written must not cost a run. Error (io): it cannot be.
  Result<void> open(const std::string& path);
  void add(std::uint32_t node, std::string_view piece);  // of its report: spans are taken
  void add_launcher(const Phases& phases);
  Result<void> write();  // Error (io)

 private:
  std::string path_;
  std::ofstream file_;
  ReportLines lines_;
};

}  // namespace scela
