// The fences of a node's PMIx server (the process beside the agent to which the node's ranks are
// connected). A fence is an allgather among the lowest ranks that its set has on each node. Each of
// these contributes what its node's server has collected.
//
// The tag of a fence comes from the set, so that fences of different ranks on the same nodes are
// apart. Each contribution names the set, so that equal tags are noticed. Fences of one set follow
// each other. Fences with a name (groups) are apart and get a number from the node of their lowest
// rank. A member that has ended fails the fence on every node: libpmix would let it pass.
// PmixGathering (pmix_questions.h) is the set and the name.
//
// Pure, like PmixService (pmix_service.h), which owns this part; one thread at a time calls it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "nla/core/pmix/pmix_questions.h"
#include "nla/core/pmix/pmix_ranks.h"
#include "nla/core/wire/job.h"

namespace scela::nla {

class PmixFences {
 public:
  // All references are borrowed. `own` are this node's ranks.
  PmixFences(const Job& job, const RankSet& own, const PmixRanks& ranks, PmixQuestions& questions)
      : job_(job), own_(own), ranks_(ranks), questions_(questions) {}

  // Handles a message of this node's server: begins its fence, or lets it wait behind others of the
  // same set and name. Returns false if the message breaks the protocol; the caller must then end
  // the server.
  bool receive(pmix::msg::Fence& message);
  // Answers the server's question of a fence with what the agent has answered, and goes on as
  // go_on() does. `question` has a gathering and was taken from the open ones
  // (PmixQuestions::take()).
  void answered(const PmixQuestion& question, const Response& response);
  // Called when a fence of the gathering is over: begins the next one that waits, if there is one.
  void go_on(const PmixGathering& gathering);

 private:
  // One fence of this node's server, with what the server has collected.
  struct Fence {
    pmix::Id id = 0;
    std::string blob;
  };
  struct Fences {  // the fences of one gathering
    RankSet leaders;
    std::uint32_t tag = 0;
    bool under_way = false;  // the agent was asked for one
    std::deque<Fence> waiting;
  };

  // Returns the fences of a gathering. If there are none yet, sets leaders and tag.
  Fences& fences_of(const PmixGathering& gathering);
  // Begins the next waiting fence. under_way stays false if none is left to begin.
  void enter(const PmixGathering& gathering, Fences& fences);

  const Job& job_;
  const RankSet& own_;
  const PmixRanks& ranks_;
  PmixQuestions& questions_;
  std::map<PmixGathering, Fences> fences_;
  std::uint32_t numbered_ = 0;  // number of named fences of this node
};

}  // namespace scela::nla
