// Formats the final report of a program that ran once on each host. It counts the hosts that ended
// in each way and names each host once. job_report.cpp uses it.
//
//   scela-run:   node[11-12] unreachable (connect): Connection refused
//   scela-run: ok 37 (node[001-006,008]) · exit 1: 1 (node007) · unreachable 2 (node[11-12])
//
// All functions are pure.
#pragma once

#include <cstdint>
#include <string>

#include "launcher/core/report/job_report.h"

namespace scela {

// Returns the largest status of any host. It is the exit code, or 128 plus the signal. Unreachable
// hosts, timeouts and so on have the status of their row in exit_table().
int largest_status(const JobOutcome& job);
// Returns how many hosts did not end well. An exit with 0 is well, and so is an end with the job.
std::uint64_t failed_hosts(const JobOutcome& job);
// Returns the report, in lines for standard error: the causes that need words, then the summary,
// and last the reason why the whole job ended, if there is one. Returns an empty string if every
// host succeeded and JobOutcome::report_all is not set.
std::string hosts_verdict_text(const JobOutcome& job);

}  // namespace scela
