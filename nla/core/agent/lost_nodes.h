// The nodes of the subtree that were lost while the job runs: which of them were reported, and
// which nodes every agent knows to be lost. Nodes are given by their numbers. The agent's core uses
// this part, and one thread at a time calls it.
#pragma once

#include <vector>

#include "nla/core/job/job_end.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"

namespace scela::nla {

class LostNodes {
 public:
  // All references are borrowed, from the same agent (agent_state.h).
  LostNodes(Context& context, Children& children, const JobEnd& job_end)
      : context_(context), children_(children), job_end_(job_end) {}

  // Reports the failure (msg::NodeFailed) of each node below a lost child. It includes nodes
  // without ranks, because the part that plans where ranks run must know. Leaves out those below
  // `orphans`, which are to be adopted. Returns the numbers of all nodes that are lost, with the
  // child's own.
  RankSet report_failures(const Child& lost, const std::vector<Child>& orphans);
  // Sends the root which nodes are lost (msg::NodesLost), and the root sends that to every agent.
  // Nodes that were reported are left out. The caller has reported before which ranks failed there.
  void report(const RankSet& nodes);
  // Passes on towards the root which nodes a child reports as lost. Returns false if the message
  // breaks the protocol.
  bool from_child(Child& child, const msg::NodesLost& message);
  // Takes from the root which nodes are lost, and tells the children and this node's shell. Returns
  // false if the message breaks the protocol.
  bool from_parent(const msg::NodesLost& message);
  // Sends a new parent again all nodes that report() was given.
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
