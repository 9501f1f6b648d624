// The names that ranks of a node publish and look up by PMIx. The job's table of names
// (nla/core/kvs/names.h), at the root of the tree of agents, holds them. When a rank ends, the
// table is told if the rank has published names that end with it.
//
// Pure, like PmixService (pmix_service.h), which owns this part; one thread at a time calls it.
#pragma once

#include <cstdint>

#include "nla/core/pmix/pmix_questions.h"
#include "nla/core/pmix/pmix_ranks.h"
#include "nla/core/wire/job.h"

namespace scela::nla {

class PmixNames {
 public:
  // The references are borrowed. `node` is this node's number.
  PmixNames(const Job& job, std::uint32_t node, const PmixRanks& ranks, PmixQuestions& questions)
      : job_(job), node_(node), ranks_(ranks), questions_(questions) {}

  // Handle a message of this node's server. Return false if it breaks the protocol, or if no rank
  // of this node can have caused it; the caller must then end the server.
  bool receive(pmix::msg::Publish& message);
  bool receive(pmix::msg::Lookup& message);
  bool receive(pmix::msg::Unpublish& message);
  // Called when a rank of this node has ended: removes the names that were to go with it. The agent
  // must still accept requests of that rank.
  void rank_ended(Rank rank);

 private:
  // Makes the request `name` of the agent, for `question` of the server. If a size is too large or
  // the rank has ended, answers the question with an error. Returns false if the rank is not of
  // this node.
  bool ask_name(PmixQuestion question, ask::Name name);

  const Job& job_;
  const std::uint32_t node_;
  const PmixRanks& ranks_;
  PmixQuestions& questions_;
  RankSet publishers_;  // ranks with names that go with them
};

}  // namespace scela::nla
