// The contest: starts the contestants in turns and reads their measurements. A contestant is a
// library that runs the timed loops: the channel, the channel with other settings, an MPI, or a
// bare copy. scela-perf calls it from one thread.
#pragma once

#include <string>

#include "common/core/result.h"
#include "perf/core/options.h"
#include "perf/core/report.h"

namespace scela::perf {

// Runs options.turns turns; in each, every contestant runs once as a job of its own. Returns all
// measurements. `self` is the path of this program, which is also the channel's contestant. It
// first compiles the contestants of the MPIs, then blocks until all have run. Returns an error
// (kind launch or protocol) if a program cannot be compiled or run, or prints other than its
// results.
Result<Report> run_contest(const Options& options, const std::string& self);

}  // namespace scela::perf
