// The nodes of the subtree that were lost while the job runs: which of them were reported, and what
// every agent knows of lost nodes. The agent's core uses this part, and one thread at a time calls
// it.
#pragma once

#include <vector>

#include "nla/core/job/job_end.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/context.h"

namespace scela::nla {

class LostNodes {
 public:
  LostNodes(Context& context, Children& children, const JobEnd& job_end)
      : context_(context), children_(children), job_end_(job_end) {}

  // Reports the failure of the nodes below a lost child, even of those without ranks, because the
  // part that plans where ranks run must know. Leaves out those below `orphans`, which are to be
  // adopted. Returns all nodes that are lost, with the child's own.
  RankSet report_failures(const Child& lost, const std::vector<Child>& orphans);
  // Sends the root which nodes are lost, and the root tells every agent. The caller has reported
  // before what is known of ranks there.
  void report(const RankSet& nodes);
  // Return false if the message breaks the protocol.
  bool from_child(Child& child, const msg::NodesLost& message);
  bool from_parent(const msg::NodesLost& message);
  // Repeats to a new parent what was reported.
  void repeat_to_parent();
  // Sends a child that joined late the nodes that every agent knows to be lost.
  void send_to(const Child& child);

 private:
  // Tells the agents below and this node's shell, on behalf of the root.
  void spread(const RankSet& nodes);

  Context& context_;
  Children& children_;
  const JobEnd& job_end_;
  RankSet reported_;  // numbers of nodes, not of ranks
};

}  // namespace scela::nla
