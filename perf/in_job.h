// scela-perf as a rank of a job that the user has started: scela-run -n 2 scela-perf latency.
#pragma once

#include "perf/core/options.h"

namespace scela::perf {

// Whether a launcher has started this process as a rank (SCELA_RANK, PMI_RANK or PMIX_RANK).
bool is_in_job();

// All ranks of the job call it with the same options. Blocks until all have measured; rank 0 prints
// what scela-perf prints. The exit status: 0, 1 (it could not be measured), 2 (the options are for
// a job of scela-perf's own).
int measure_in_job(Options options);

}  // namespace scela::perf
