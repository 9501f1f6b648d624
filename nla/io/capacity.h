// How many ranks a node can hold. An agent is the process of the job on the node. Its shell, the
// code with system calls, asks for the limits of processes and descriptors before it starts the
// first of many ranks. So a mistyped number of ranks costs an error message and not the machine's
// memory.
//
// The limits are those that would end the start half way. How much of them other processes use
// meanwhile is not known here; in that case the start of a rank fails and reports it. The functions
// keep no state; they read files of /proc and /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/core/error.h"

namespace scela::nla {

// The value of a limit that does not bind.
inline constexpr std::uint64_t kNoLimit = UINT64_MAX;

// The numbers of processes and descriptors that the system allows.
struct SystemLimits {
  std::uint64_t user_processes = kNoLimit;  // RLIMIT_NPROC, where it binds
  // The greatest process id and the most threads of the whole system.
  std::uint64_t pid_max = kNoLimit;
  std::uint64_t threads_max = kNoLimit;
  std::uint64_t cgroup_processes = kNoLimit;  // room in the tightest control group
  std::uint64_t descriptors = kNoLimit;       // that this process may still open
};

// Returns the limits of this process. Files are looked for below `root`, which a test may set; the
// system's is "". What cannot be read counts as no limit.
SystemLimits system_limits(const std::string& root = {});

// The reason why a node cannot hold its ranks.
struct TooMany {
  int error = 0;  // errno of the start that would fail
  Error text;
};
// Returns std::nullopt if the node can hold `ranks` ranks, `with_input` of them with standard
// input. Otherwise returns the tightest limit. `node` is the node's name, for the text.
std::optional<TooMany> too_many(std::uint64_t ranks, std::uint64_t with_input,
                                const std::string& node, const SystemLimits& limits);

}  // namespace scela::nla
