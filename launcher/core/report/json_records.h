// Makes the records of --json: what scela-run knows about a job, its hosts and its ranks, as JSON
// lines. docs/guide/results-as-data.md documents every member; a test compares both. The session
// writes them.
//
// Each record is one JSON object on one line, with its newline. The member "type" says which one it
// is: job, output, host, rank or end. All functions are pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/placement/rank_map.h"
#include "common/core/rank_set.h"
#include "launcher/core/report/job_report.h"

namespace scela {

// The number of the schema. It changes if a member gets another name or meaning, or goes away.
// Later versions may add members and types under the same number.
inline constexpr int kJsonSchema = 1;

// A job at its start.
struct JsonJob {
  std::string id;
  std::int64_t began_unix_ms = 0;  // milliseconds since 1970, UTC
  std::vector<std::vector<std::string>> commands;
  std::vector<std::string> hosts;
  Rank ranks = 0;
  bool once_per_host = false;
};
// Returns the record "job".
std::string job_record(const JsonJob& job);

// Returns the record "output" for one line of a rank's output. `line` may end with its newline,
// which the record leaves out. `stream` is "stdout" or "stderr".
std::string output_record(Rank rank, std::string_view host, std::string_view stream,
                          std::string_view line);

// The resources that a rank has used (nla/ranks/rank_usage.h explains the members).
struct JsonUsage {
  std::uint64_t run_us = 0;
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
  std::uint64_t max_rss_kib = 0;
};

// A job at its end. It borrows nothing.
struct JsonResult {
  std::vector<std::string> hosts;  // names by node number
  RankMap map;                     // the ranks of each node
  // Returns the program of a rank.
  std::function<std::string(Rank)> program_of;
  // The exact outcomes. Unlike in JobOutcome::groups, ranks share one only if their messages are
  // equal.
  std::vector<JobOutcome::Group> outcomes;
  std::map<Rank, JsonUsage> usage;
  // Hosts that never had an agent, and hosts that lost it while ranks ran, with phase and cause.
  // A host may be in `missing` only and not in `hosts`.
  std::vector<MissingHost> missing;
  std::vector<MissingHost> lost;
  // Name and duration of each phase, in microseconds; std::nullopt if it was not reached.
  std::vector<std::pair<std::string, std::optional<std::uint64_t>>> phases;
};
// Returns the records "host" in the order of the hosts, "rank" in the order of the ranks, and the
// record "end". The exit status is that of `job`.
std::string end_records(const JsonResult& result, const JobOutcome& job);

}  // namespace scela
