// The contest: starts the contestants in turns and reads their measurements. scela-perf calls it
// from one thread.
#pragma once

#include <string>

#include "common/core/result.h"
#include "perf/core/options.h"
#include "perf/core/report.h"

namespace scela::perf {

// `self` is the path of this program, which is also the channel's contestant. It first compiles the
// contestants of the peers, then blocks until all have run.
Result<Report> run_contest(const Options& options, const std::string& self);

}  // namespace scela::perf
