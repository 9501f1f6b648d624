// The facts of a job that the agent tells the PMI session of a rank, and the names of requests in
// the trace.
//
// RankPmi uses these functions. They keep no state and may be called from any thread.
#pragma once

#include "nla/core/wire/job.h"
#include "nla/core/wire/request_names.h"
#include "pmi/protocol/job_facts.h"

namespace scela::nla {

// Returns what the session of `rank` tells its client of the rank's world, and what it needs to
// form requests to the whole job. `own` are the ranks of the rank's node.
pmi::JobFacts facts_of(const Job& job, const RankSet& own, Rank rank);

// Returns the name of a request in the trace, a literal. Returns nullptr if the request has no
// answer, and so no span: Abort and Violation.
const char* trace_name(const Request& request);

}  // namespace scela::nla
