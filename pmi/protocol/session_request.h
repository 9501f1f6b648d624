// A request of a session of PMI-1 or PMI-2: one to the job (common/core/requests/rank_request.h),
// or one of three that the agent of the rank's node answers alone. LineServer passes both on to
// JobServices.
//
// Values only. A session numbers its requests from 1 in the order in which it gives them. The
// answer names that number. ask::Abort and ask::Violation end a session and have no number.
#pragma once

#include <variant>

#include "common/core/requests/rank_request.h"

namespace scela::pmi {

// Asks for the memory that the agent shares with the ranks of this node (segment_layout.h). Its
// descriptor goes to the rank with the answer. The answer is an error if there is no segment or no
// way to send a descriptor.
struct SegmentRequest {};
// Asks for a ring to use instead of the connection (ring_layout.h). Descriptors and errors are as
// for the segment. Once the rank has taken the ring, its connection ends and its bytes pass there.
struct RingRequest {};
// Asks if `about`, a rank of the asker's world as numbered in the whole job, has finalized or has
// ended. The answer comes at once with what this node knows: Response::found is true if the rank
// has left. If this node does not know it, it asks for it, so that a later request is answered.
struct LeftRequest {
  Rank about = 0;
};

using SessionRequest = std::variant<ask::Request, SegmentRequest, RingRequest, LeftRequest>;

}  // namespace scela::pmi
