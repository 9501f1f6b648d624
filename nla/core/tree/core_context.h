// The state that the parts of an agent's core share: the agent's identity, its job, and the list
// that its actions go to. An agent is the process of a job on one node; the root is the agent
// inside scela-run, which has no node and no ranks. The parts in nla/core/agent, job, kvs and io
// use this file.
//
// Each agent has one Context, and its parts hold a reference to it. `out` is set for the duration
// of one event. One thread at a time uses a Context.
//
// A slice is a range of node numbers [first, end), and nodes are numbered from 0 in the order of
// the host list. An agent that loses its parent may be adopted: it keeps its ranks and gets a new
// parent. A verdict says how a rank ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/core/kary_tree.h"
#include "nla/core/tree/actions.h"
#include "nla/core/tree/agent.h"
#include "nla/core/tree/lifecycle.h"
#include "nla/core/wire/job.h"

namespace scela::nla {

// The node number of the root, which has no node.
inline constexpr std::uint32_t kRootNode = UINT32_MAX;

struct Context {
  Role role = Role::agent;
  Phase phase = Phase::waiting;
  std::uint32_t node = kRootNode;  // of this agent
  Slice slice;                     // its nodes, itself first (root: all)
  RankSet handed_back;             // nodes of it that the root starts
  std::vector<std::string> hosts;  // their contacts, one line for each
  std::uint32_t nodes = 0;         // number of nodes in the whole host list
  // The most children that an agent starts, if none is slow or fails.
  std::uint32_t degree = 1;
  // The time from the first signal to SIGKILL, if ranks are to end.
  std::uint32_t grace_ms = 0;
  std::string job_id;  // unique for each job
  // As msg::Start::settings has it. The core passes it on without reading it.
  std::string settings;
  std::uint32_t parent = kRootNode;  // node of the parent; kRootNode: the root
  // An agent that loses its parent waits so many milliseconds for a new one; 0: it does not.
  std::uint32_t adopt_ms = 0;
  // Unknown until the root sends it. It includes the worlds that were added since.
  std::optional<Job> job;
  // The ranks of this node (none at the root), and those of all nodes of the slice. Both include
  // ranks that have ended.
  RankSet own_ranks;
  RankSet subtree_ranks;
  // Node numbers that were reported failed, by this agent or by agents below.
  RankSet failed_nodes;
  // Those of failed_nodes that failed before they were ready. Their slices were handed to other
  // agents.
  RankSet never_ready;
  // The failures that this agent reported, if agents of lost parents are adopted and it is not the
  // root.
  std::vector<msg::NodeFailed> failed_running;
  // The nodes that were lost while the ranks ran, as the root tells every agent (msg::NodesLost).
  RankSet lost_nodes;
  // The parent is lost for good: this agent sends nothing up and ends its subtree.
  bool parent_lost = false;
  // The parent is lost, and this agent waits for another one. At most one of parent_lost and
  // orphaned is true.
  bool orphaned = false;
  // The agent was adopted at some time. Until its new parent has all reports, that parent may send
  // messages about ranks that are not below any more.
  bool adopted = false;
  // msg::Done, the last message to the parent, was sent.
  bool done = false;
  // Only at the root: the job was launched while agents were being started (event::Launch).
  bool launched_early = false;
  std::uint64_t messages = 0;  // messages sent on links
  // The actions that answer the present event. It is nullptr between two events.
  Actions* out = nullptr;

  // Returns true for the root, the agent inside scela-run.
  bool is_root() const { return role == Role::root; }
  // Returns true if every agent has the root for its parent.
  bool is_flat() const { return degree >= nodes; }
  // Returns true if an agent that loses its parent is adopted by the parent of that parent.
  bool adopts() const { return adopt_ms > 0 && job && job->on_failure == OnFailure::wait; }
  // Returns the contact of a node: the line that says how its agent is reached
  // (nla/core/wire/contact.h). The node must be in `slice`.
  const std::string& host(std::uint32_t index) const { return hosts[index - slice.first]; }

  // Some bounds are an amount for each rank. Returns how many of `ranks` count for them: those that
  // the job began with, at least 1. Otherwise a rank could get more by asking for more ranks.
  // Before the job is known, all count.
  std::uint64_t shares(const RankSet& ranks) const {
    if (!job) return ranks.size();
    return std::max<std::uint64_t>(ranks.intersection(job->ranks_of_world(0)).size(), 1);
  }

  // Appends an action (action::...) to `out`.
  template <class A>
  void act(A&& action) {
    out->emplace_back(std::forward<A>(action));
  }
  // Appends an action that sends the message on the link. Does nothing if the link leads to the
  // parent, and the parent is lost or Done was sent.
  void send(LinkId link, Message message) {
    if (link == kParentLink && (parent_lost || orphaned || done)) return;
    ++messages;
    act(action::Send{link, std::move(message)});
  }
  // Sends the message to the parent, as send() does.
  void send_up(Message message) { send(kParentLink, std::move(message)); }
};

}  // namespace scela::nla
