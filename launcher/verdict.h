// From what the tree reports to what the person reads: outcomes of ranks in the words of report.h.
#pragma once

#include "launcher/core/report.h"
#include "nla/core/outcome.h"

namespace scela {

RankOutcome to_rank_outcome(const nla::Outcome& outcome);

}  // namespace scela
