// Counts the connections that ranks need, from the task lists of collective operations alone: no
// operation is executed. A task list is one rank's part of an operation as data
// (collectives/core/task_list.h). scela-perf --census and the benchmark coll use it.
#pragma once

#include <string>
#include <vector>

#include "common/core/result.h"
#include "perf/core/options.h"
#include "perf/core/report.h"

namespace scela::perf {

// Returns a table for people, or lines of JSON with options.json. It has a line for each operation
// of options.ops (or for all). For each it has all algorithms that can execute it, or
// options.algorithm. A line has the number of ranks that a rank exchanges messages with, and the
// number of queue pairs. Returns an error (usage) if the algorithm cannot be used.
Result<std::string> counted(const Options& options);

// Adds these numbers to the values of the measured rows of ScELA's own operations. Returns an error
// if the algorithm, or a setting of this process, cannot be used.
Result<void> count_lists(const Options& options, std::vector<Row>& rows);

}  // namespace scela::perf
