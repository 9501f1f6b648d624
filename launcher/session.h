// Runs one job as the root of the tree: starts the tree, launches the ranks, passes streams and
// signals, and collects what the user is told at the end. command.cpp calls it.
//
// It owns the shell of the root agent (decision D1: scela-run is the root of the tree) and runs in
// one thread. run_session() blocks; it returns when no part of the job is left anywhere, and never
// before.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "common/core/result.h"
#include "launcher/core/options/options.h"
#include "launcher/core/report/report.h"
#include "launcher/hosts/host_access.h"
#include "launcher/io/stderr_writer.h"
#include "launcher/plan/plan.h"

namespace scela {

// The extra time, on top of the grace time, that a stalled reader of a stopped job's output gets.
// After that its output is dropped.
inline constexpr std::chrono::milliseconds kReaderSlack{1000};

struct SessionResult {
  JobOutcome outcome;
  std::string statistics;  // to print with --stats, else empty
};

// `began_ns` is the monotonic clock in nanoseconds at the start of scela-run. `log` takes the
// output of -v and other lines for the user. Returns an error if the job cannot begin (no agent
// executable, no descriptors, an unwritable file).
Result<SessionResult> run_session(const Options& options, Plan plan, HostAccess reach,
                                  const std::string& agent, StderrWriter& log,
                                  std::int64_t began_ns);

}  // namespace scela
