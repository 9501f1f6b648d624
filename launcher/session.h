// One job from the root's point of view: starts the tree, launches the ranks, passes streams and
// signals, and collects what the person is told at the end.
//
// Owns the root agent's shell (decision D1: scela-run is the root of the tree). One thread; run()
// returns when nothing of the job is left anywhere, and never before.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "common/core/result.h"
#include "launcher/core/options.h"
#include "launcher/core/report.h"
#include "launcher/plan.h"
#include "launcher/reach.h"
#include "launcher/stderr_writer.h"

namespace scela {

// What a reader of an ended job's output that stalls gets on top of the grace, before nobody waits
// for it any more.
inline constexpr std::chrono::milliseconds kReaderSlack{1000};

struct SessionResult {
  JobOutcome outcome;
  std::string statistics;  // to print with --stats, else empty
};

// `began_ns`: monotonic clock when scela-run started. `log`: where -v goes.
// Error: the job could not even begin (no agent executable, no descriptors, an unwritable file).
Result<SessionResult> run_session(const Options& options, Plan plan, Reach reach,
                                  const std::string& agent, StderrWriter& log,
                                  std::int64_t began_ns);

}  // namespace scela
