// Translates the outcomes of ranks from the agents' form to that of report.h. The session uses it.
// The function computes a value from a value and may be called from any thread.
#pragma once

#include "launcher/core/report/job_report.h"
#include "nla/core/wire/outcome.h"

namespace scela {

// Returns the outcome of a rank in the form of launcher/core/report/job_report.h. `outcome` is what
// the agent reported.
RankOutcome to_rank_outcome(const nla::Outcome& outcome);

}  // namespace scela
