// The services of a node that a rank's server may call. They are declared here and implemented by
// the agent (nla).
//
// One object serves all ranks of the node. No call blocks, and no call may destroy the server that
// makes it. All calls come from one thread.
#pragma once

#include "common/core/requests/rank_request.h"
#include "pmi/protocol/job_facts.h"

namespace scela::pmi {

// Ranks are numbered as in the whole job.
class JobServices {
 public:
  virtual ~JobServices() = default;

  // Returns the facts that the session of this rank tells its client.
  virtual JobFacts facts(Rank rank) const = 0;
  // Passes a request of the rank to the job. Ids are unique per rank and grow. The answer comes
  // through RankServer::answered with that id, later or from within the call. Abort and Violation
  // are not answered, and their id is not used.
  virtual void submit(Rank rank, ask::RequestId id, ask::Request request) = 0;

  // Sends the rank the descriptor of the memory of its node (pmi/protocol/segment_layout.h) with
  // the next bytes of its connection. Returns false if there is no such memory or no way to send a
  // descriptor.
  virtual bool offer_segment(Rank rank) = 0;
  // Sends the rank the descriptor of a ring (pmi/protocol/ring_layout.h) in the same way. Returns
  // false if the rank has to go on with its connection.
  virtual bool lend_ring(Rank rank) = 0;
  // Returns true if this node knows that `about`, numbered as in the whole job, has finalized or
  // ended. If it does not know, it asks that rank's node in the name of `asker`, so that a later
  // call may return true.
  virtual bool has_left(Rank asker, Rank about) = 0;
};

}  // namespace scela::pmi
