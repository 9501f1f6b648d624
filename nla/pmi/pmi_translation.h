// Translates between the terms of a rank's protocol server (pmi/) and those of the core. Ranks of a
// world know only each other, by numbers from 0; the core knows the ranks of the whole job.
//
// RankPmi uses these functions. They keep no state and may be called from any thread.
#pragma once

#include <optional>

#include "nla/core/wire/job.h"
#include "nla/core/wire/request.h"
#include "pmi/protocol/collective.h"
#include "pmi/protocol/job_facts.h"
#include "pmi/protocol/request.h"

namespace scela::nla {

struct CoreRequest {
  // A literal, the name of the request in the trace. nullptr: no answer comes.
  const char* name = nullptr;
  Request request;
};

// Returns the request of `rank` as the core is asked; its texts are moved out of `request`. Returns
// std::nullopt, and leaves `request` as it is, if the rank's agent answers it alone: Segment, Ring
// and Left.
std::optional<CoreRequest> core_request(const Job& job, Rank rank, pmi::Request& request);
CoreRequest core_request(const Job& job, Rank rank, pmi::Collective call);

// Return the core's response as the rank's server is told, for each of the two calls above.
pmi::Answer answer_of(const Response& response);
pmi::Collected collected_of(const Response& response);

// Returns what the rank is told of its world. `own` are the ranks of its node.
pmi::JobFacts facts_of(const Job& job, const RankSet& own, Rank rank);
// Returns the ranks of the world to which this rank belongs.
RankSet world_of(const Job& job, Rank rank);

}  // namespace scela::nla
