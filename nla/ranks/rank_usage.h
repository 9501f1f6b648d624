// Describes what the process of a rank has used, for scela-run --json. The agent of a node keeps
// the usage of each rank that has ended. It sends a line for each of them to scela-run, with its
// report at the end of the job.
//
// A line is "usage RANK RUN_US USER_US SYSTEM_US RSS_KIB", with decimal numbers. The functions
// compute values from values and may be called from any thread.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/rank_set.h"

namespace scela::nla {

// The usage of one rank. It includes the processes that the rank started and waited for.
struct RankUsage {
  Rank rank = 0;
  // From just before its process was made to its end, in microseconds. The processor times count
  // from there too.
  std::uint64_t run_us = 0;
  std::uint64_t user_us = 0;    // processor time of the program
  std::uint64_t system_us = 0;  // processor time of the kernel for it
  // The largest resident size of any of its processes, in KiB. It is never less than that of the
  // agent from which the rank was started.
  std::uint64_t max_rss_kib = 0;
  friend bool operator==(const RankUsage&, const RankUsage&) = default;
};

// Returns the usage of a rank that ran for `run_ns` nanoseconds. `used` is that of wait4(2).
RankUsage usage_of(Rank rank, std::uint64_t run_ns, const rusage& used);
// Returns the line for scela-run, with its newline.
std::string usage_line(const RankUsage& usage);
// Returns the usage that a line without its newline says. Returns std::nullopt if the line has
// another form.
std::optional<RankUsage> parse_usage(std::string_view line);

}  // namespace scela::nla
