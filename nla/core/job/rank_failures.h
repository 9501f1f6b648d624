// The failures of ranks in a subtree, on their way to the root, which is the agent inside
// scela-run. This part also decides at the root what follows from the first one. A failure that
// matters at once travels as PROCESS_FAIL (thesis section 2.2.1), ahead of the verdicts, which say
// how each rank ended. The agent's core uses this part, and one thread at a time calls it.
#pragma once

#include <map>
#include <string>

#include "nla/core/job/job_end.h"
#include "nla/core/kvs/rank_services.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"
#include "nla/core/tree/verdicts.h"

namespace scela::nla {

class RankFailures {
 public:
  // All references are borrowed, from the same agent (nla/core/agent/agent_state.h).
  RankFailures(Context& context, Verdicts& verdicts, JobEnd& job_end, RankServices& services)
      : context_(context), verdicts_(verdicts), job_end_(job_end), services_(services) {}

  // Reports the failure of a rank of the subtree upwards; at the root, decides what follows. If one
  // failure ends the job, later ones are not sent.
  void report(Rank rank, const Outcome& said);
  // Reports the failure of these ranks. If the job ends because of them, one report is enough. If
  // it goes on, each rank is reported: peers might wait for it.
  void report_all(const RankSet& ranks, const Outcome& outcome);
  // Gives verdicts to those of these ranks that have none: no agent will report theirs any more. A
  // failure that was reported is the verdict of its rank; the others get Ending::lost with the text
  // `why`.
  void lose(const RankSet& ranks, const std::string& why);
  // Takes a child's report of a failure. Returns false if the message breaks the protocol.
  bool from_child(Child& child, const msg::ProcessFail& message);
  // Sends a new parent again all failures that still matter.
  void repeat_to_parent();

  // Returns the outcome with which the rank asked for the end of the job (PMI abort), or nullptr if
  // it did not. That outcome counts instead of how the rank exits.
  const Outcome* abort_of(Rank rank) const;

 private:
  // At the root: ends the job because of this failure, or tells every agent that the job goes on
  // without the rank.
  void decide(Rank rank, const Outcome& outcome);

  Context& context_;
  Verdicts& verdicts_;
  JobEnd& job_end_;
  RankServices& services_;
  std::map<Rank, Outcome> aborted_;
  // The outcomes that PROCESS_FAIL from below reported, until Verdicts report the same.
  std::map<Rank, Outcome> reported_;
  bool sent_ = false;  // PROCESS_FAIL went up; at the root: FirstFailure was given
};

}  // namespace scela::nla
