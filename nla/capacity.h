// How many ranks a node can hold: the limits of processes and descriptors, asked before the first
// rank is started, so that a mistyped number costs a message and not the machine's memory.
//
// The limits are those that would end the start half way. What others use of them meanwhile is not
// known here; then the start of a rank fails and says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/core/error.h"

namespace scela::nla {

inline constexpr std::uint64_t kNoLimit = UINT64_MAX;

struct SystemLimits {
  std::uint64_t user_processes = kNoLimit;  // RLIMIT_NPROC, where it binds
  std::uint64_t pid_max = kNoLimit;
  std::uint64_t threads_max = kNoLimit;
  std::uint64_t cgroup_processes = kNoLimit;  // free in the tightest control group
  std::uint64_t descriptors = kNoLimit;       // that this process may still open
};

// Of this process. Files are looked for below `root` (a test's; "" is the system's); what cannot be
// read is no limit.
SystemLimits system_limits(const std::string& root = {});

struct TooMany {
  int error = 0;  // errno of the start that would have failed
  Error text;
};
// Empty if a node can hold `ranks`, `with_input` of them with standard input; else the tightest
// limit.
std::optional<TooMany> too_many(std::uint64_t ranks, std::uint64_t with_input,
                                const std::string& node, const SystemLimits& limits);

}  // namespace scela::nla
