// Runs one job: starts the tree of agents, launches the ranks, passes streams and signals, and
// collects what the user reads at the end. command.cpp calls it.
//
// scela-run itself is the root of the tree (decision D1), so this process also runs the root agent,
// which has no ranks. The session runs in one thread. run_session() blocks; it returns when no part
// of the job is left anywhere, and never before.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options/options.h"
#include "launcher/core/report/job_report.h"
#include "launcher/hosts/host_contacts.h"
#include "launcher/io/stderr_writer.h"
#include "launcher/plan/plan.h"

namespace scela {

// The result of a job that began.
struct SessionResult {
  // How the ranks ended; it determines the exit status.
  JobOutcome outcome;
  std::string statistics;  // to print with --stats, else empty
  // The ranks of each program with which the job began.
  std::vector<std::uint32_t> ranks_of_programs;
};

// Runs the job of `plan` and blocks until its end. `reach` says how its hosts are reached. `agent`
// is the path of scela-nla on this machine. `log` takes the output of -v and other lines for the
// user. `began_ns` is the monotonic clock in nanoseconds at the start of scela-run, from which
// --timeout, --stats, --trace and --json count. If the plan says that the job was started before
// (Training::restarts), the files of --json and --output-dir are continued. Returns an error if the
// job cannot begin (no agent executable, no descriptors, an unwritable file).
Result<SessionResult> run_session(const Options& options, Plan plan, HostContacts reach,
                                  const std::string& agent, StderrWriter& log,
                                  std::int64_t began_ns);

}  // namespace scela
