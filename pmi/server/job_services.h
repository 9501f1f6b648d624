// The services of a node that a rank's server may call. They are declared here and implemented by
// the agent (nla).
//
// One object serves all ranks of the node. No call blocks, and no call may destroy the server that
// makes it. All calls come from one thread.
#pragma once

#include "pmi/protocol/collective.h"
#include "pmi/protocol/job_facts.h"
#include "pmi/protocol/request.h"

namespace scela::pmi {

class JobServices {
 public:
  virtual ~JobServices() = default;

  virtual JobFacts facts(Rank rank) const = 0;
  // Ids are unique per rank and grow. The answer comes through RankServer::answered with that id,
  // later or from within the call. Abort and Violation are not answered, and their id is not used.
  virtual void submit(Rank rank, RequestId id, Request request) = 0;
  // An operation of all ranks of the job. The answer comes through RankServer::collected, by the
  // same rules.
  virtual void collective(Rank rank, RequestId id, Collective call) = 0;
};

}  // namespace scela::pmi
