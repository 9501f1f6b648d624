// The link to the parent as seen by the agent below: its loss, and the adoption by another agent.
// An adopter is an agent that becomes the new parent. docs/design/protocol.md has the reasons. The
// agent's core uses this part, and one thread at a time calls it.
#pragma once

#include <utility>
#include <vector>

#include "nla/core/agent/job_updates.h"
#include "nla/core/io/streams.h"
#include "nla/core/job/job_end.h"
#include "nla/core/job/node_processes.h"
#include "nla/core/kvs/rank_services.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"

namespace scela::nla {

class ParentLink {
 public:
  // All references are borrowed, from the same agent (agent_state.h).
  ParentLink(Context& context, const Children& children, JobEnd& job_end,
             const NodeProcesses& processes, RankServices& services, JobUpdates& updates,
             OutputFlow& output, InputFlow& input)
      : context_(context),
        children_(children),
        job_end_(job_end),
        processes_(processes),
        services_(services),
        updates_(updates),
        output_(output),
        input_(input) {}

  // Call it when the link has ended. The agent then waits for an adopter if one may come; otherwise
  // see lost().
  void ended();
  // Treats the parent as gone for good: this agent ends its ranks and its subtree.
  void lost();

  // Takes a message of an adopter. Returns false if it breaks the protocol. After the last message
  // (Adopt::last), this agent has a parent again, and has sent it msg::Orphan. The caller then
  // repeats what the lost parent may not have passed on. Last it sends again the output that the
  // adopter has not seen (release_seen()).
  bool adopted_by(const msg::Adopt& message);
  // Returns how much of the output of ranks here the adopter has, and forgets it.
  std::vector<msg::Seen> release_seen() { return std::exchange(seen_, {}); }

 private:
  // Returns true if another agent may replace a parent that is lost now.
  bool may_be_adopted() const;
  // Waits for an adopter, and fails what was in flight above.
  void wait_for_adopter();

  Context& context_;
  const Children& children_;
  JobEnd& job_end_;
  const NodeProcesses& processes_;
  RankServices& services_;
  JobUpdates& updates_;
  OutputFlow& output_;
  InputFlow& input_;
  std::vector<msg::Seen> seen_;  // from an adopter, until its last Adopt
};

}  // namespace scela::nla
