// What ranks need connections for, by the lists of collective operations alone.
#pragma once

#include <string>
#include <vector>

#include "common/core/result.h"
#include "perf/core/options.h"
#include "perf/core/report.h"

namespace scela::perf {

// A line, or with options.json an object, for each operation and algorithm that can (or for
// options.algorithm): whom ranks speak with, and queue pairs. Nothing is run.
Result<std::string> counted(const Options& options);

// Puts the same beside what was measured of ScELA's own operations.
Result<void> count_lists(const Options& options, std::vector<Row>& rows);

}  // namespace scela::perf
