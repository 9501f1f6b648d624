// Chooses the hosts and the start method of a job from what was detected and what the user says.
// launcher/hosts/job_allocation.cpp uses it. Pure.
//
// Hosts that the user names count first, then those of the allocation, then this machine. Agents
// are started by the scheduler's own command if all hosts are hosts of the allocation, unless the
// user names another method.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/detect/bulk_command.h"
#include "launcher/core/detect/detect.h"
#include "launcher/core/detect/launch_method.h"
#include "launcher/core/detect/starter.h"

namespace scela {

// The words of the user about hosts and the start of agents.
struct LaunchWish {
  LaunchMethod method = LaunchMethod::automatic;  // --launch
  std::string program;                            // LaunchMethod::program: "rsh -l me"
  std::optional<Scheduler> scheduler;             // --launch sge: the method is automatic
  std::vector<std::string> hosts;                 // names of hosts; empty: none are named
  std::optional<std::string> exclude;             // -x: a host list
  std::string host_name;                          // of this machine: an agent here needs no starter
};

// The choice, which launcher/hosts/job_allocation.cpp puts into the options and the launch context.
struct LaunchChoice {
  std::optional<Allocation> allocation;  // the job's hosts; absent: as the options say
  // The scheduler of which the hosts are, also those that the user names; absent: of none.
  std::optional<Scheduler> scheduler;
  // The command of a starter, as LaunchWish::program; empty: as the options say.
  std::string program;
  std::optional<BulkStarter> bulk;  // one command that starts all agents
  // Lines for --verbose and --dry-run: what was found, how agents are started, what was set aside.
  // Empty if no allocation was found.
  std::vector<std::string> lines;
};

// Returns the choice. Returns an error (kind usage) if --launch names a scheduler that has no
// usable command, or if it names one and a named host is not of its job.
Result<LaunchChoice> choose_launch(const LaunchWish& wish, Detection detection,
                                   const Environment& environment);

}  // namespace scela
