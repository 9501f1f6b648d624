// The state that the parts of an agent's core share: the agent's identity, its job, and the list
// that its actions go to.
//
// Each agent has one Context, and its parts hold a reference to it. `out` is set for the duration
// of one event. One thread at a time uses a Context.
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

inline constexpr std::uint32_t kRootNode = UINT32_MAX;

struct Context {
  Role role = Role::agent;
  Phase phase = Phase::waiting;
  std::uint32_t node = kRootNode;
  Slice slice;                     // its nodes, itself first (root: all)
  RankSet handed_back;             // of these, those handed to the root
  std::vector<std::string> hosts;  // their contacts, one line for each
  std::uint32_t nodes = 0;         // number of nodes in the whole host list
  // The most children that an agent starts, if none is slow or fails.
  std::uint32_t degree = 1;
  // The time from the first signal to SIGKILL, if ranks are to end.
  std::uint32_t grace_ms = 0;
  std::string job_id;
  std::string settings;
  std::uint32_t parent = kRootNode;  // the parent's node
  std::uint32_t adopt_ms = 0;        // see event::Begin::adopt_ms
  std::optional<Job> job;
  RankSet own_ranks;
  RankSet subtree_ranks;
  RankSet failed_nodes;  // node numbers that were reported failed
  RankSet never_ready;   // of these, those with slices handed on
  // The failures that this agent reported, if agents of lost parents are adopted and it is not the
  // root.
  std::vector<msg::NodeFailed> failed_running;
  RankSet lost_nodes;  // as msg::NodesLost tells every agent
  bool parent_lost = false;
  bool orphaned = false;  // lost too, but another may replace it
  // The agent was adopted at some time. The new parent speaks of ranks that are not below any more,
  // until it has heard otherwise.
  bool adopted = false;
  bool done = false;           // Done was sent, and it is the last
  std::uint64_t messages = 0;  // messages sent on links
  Actions* out = nullptr;

  bool is_root() const { return role == Role::root; }
  // Returns true if an agent that loses its parent is adopted by the parent of that parent.
  bool adopts() const { return adopt_ms > 0 && job && job->on_failure == OnFailure::wait; }
  // Returns the contact of node `index`, which must be in `slice`.
  const std::string& host(std::uint32_t index) const { return hosts[index - slice.first]; }

  // Returns how many of `ranks` count if a bound is so much for each rank. These are the ranks that
  // the job began with, at least 1. Otherwise a rank could get more by asking for more ranks.
  std::uint64_t shares(const RankSet& ranks) const {
    if (!job) return ranks.size();
    return std::max<std::uint64_t>(ranks.intersection(job->ranks_of_world(0)).size(), 1);
  }

  template <class A>
  void act(A&& action) {
    out->emplace_back(std::forward<A>(action));
  }
  // Does nothing if the link leads to the parent and the parent is lost, or Done was sent.
  void send(LinkId link, Message message) {
    if (link == kParentLink && (parent_lost || orphaned || done)) return;
    ++messages;
    act(action::Send{link, std::move(message)});
  }
  void send_up(Message message) { send(kParentLink, std::move(message)); }
};

}  // namespace scela::nla
