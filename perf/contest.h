// Starts the contestants in turns and reads what they have measured.
#pragma once

#include <string>

#include "common/core/result.h"
#include "perf/core/options.h"
#include "perf/core/report.h"

namespace scela::perf {

// `self`: this program, which is also the channel's contestant. Blocks until all have run; compiles
// the peers' contestants first.
Result<Report> run_contest(const Options& options, const std::string& self);

}  // namespace scela::perf
