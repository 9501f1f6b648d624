// Uses the job of a scheduler in which scela-run runs: its hosts, its slots, and its command that
// starts agents. launcher/command.cpp calls it before the plan is made. The rules are pure, in
// launcher/core/detect; this part reads the host files that variables name, and runs the
// command that tells the hosts of Flux. It blocks on both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options/options.h"
#include "launcher/hosts/node_losses.h"
#include "launcher/plan/job_hosts.h"

namespace scela {

// The result of use_allocation(), besides what it changes.
struct FoundAllocation {
  // Lines for --verbose and --dry-run: what was found, how agents are started, and what was set
  // aside.
  std::vector<std::string> lines;
  // Listens for losses of the hosts, if a PMIx server has told them.
  std::optional<LossTool> loss_tool;
};

// Puts the start method into the options, and the hosts into LaunchContext::allocation. Nothing
// changes, and there are no lines, if no scheduler's job is found, or if all agents run on this
// machine (--sim-nodes, --launch local). Returns an error (kind usage) if the allocation cannot be
// read, or does not fit --launch.
//
// If the command line has an option of operators (--gather, --diff, --host-timeout), the hosts of
// the allocation lose their slots and Options::on_each_host is set: such a command runs once on
// each host, as under pdsh and clush, unless ranks are asked for.
Result<FoundAllocation> use_allocation(Options& options, LaunchContext& context);

}  // namespace scela
