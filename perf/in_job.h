// scela-perf as a rank of a job that the user has started, for example by scela-run -n 2 scela-perf
// latency. main() calls it, from one thread.
#pragma once

#include "perf/core/options.h"

namespace scela::perf {

// Returns true if a launcher has started this process as a rank: SCELA_RANK, PMI_RANK or PMIX_RANK
// is set.
bool is_in_job();

// All ranks of the job call it with the same options. It blocks until all have measured; rank 0
// prints what scela-perf prints. Returns the exit status: 0, 1 (the measurement failed) or 2 (the
// options need a job of scela-perf's own).
int measure_in_job(Options options);

}  // namespace scela::perf
