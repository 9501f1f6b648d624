// Decides whether a job that has ended is started again (--restart), and without which hosts. The
// restarts of launcher/restarts.h use it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/core/report/job_report.h"

namespace scela {

// Says what happens after a start of a job.
struct RestartRule {
  // True if the job failed in a way that another start may mend: a rank failed, or a node was lost.
  // An interrupt, a time limit, a program that cannot be executed and errors of scela-run's own
  // files or options would be the same again.
  bool may_help = false;
  // The hosts that were lost, or that could not be reached. The next start does without them. A
  // host that was only cut off by the loss of another one is not among them.
  std::vector<MissingHost> lost;
};

// Returns the rule for a job that has ended. `known` are the hosts that were left out already.
RestartRule restart_rule(const JobOutcome& outcome, const std::vector<MissingHost>& known);

// Returns the line, with a newline, that tells of the next start: which restart of how many it is,
// without which hosts, and the reason. `restart` is 0 if no rank of the job has run so far.
std::string restart_line(std::uint32_t restart, std::uint32_t most, const RestartRule& rule,
                         const JobOutcome& outcome);

}  // namespace scela
