// The connections that ranks need, derived from the task lists of collective operations alone.
#pragma once

#include <string>
#include <vector>

#include "common/core/result.h"
#include "perf/core/options.h"
#include "perf/core/report.h"

namespace scela::perf {

// Returns a line (with options.json an object) for each operation and each algorithm that can
// execute it, or for options.algorithm. It has the number of partners and of queue pairs. No
// operation is executed.
Result<std::string> counted(const Options& options);

// Adds these numbers to the measured rows of ScELA's own operations.
Result<void> count_lists(const Options& options, std::vector<Row>& rows);

}  // namespace scela::perf
