// What the parts of an agent's core share: who this agent is, its job, and where its actions go.
//
// One Context per agent; parts hold a reference to it. `out` is set for the duration of one event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/core/kary_tree.h"
#include "nla/core/actions.h"
#include "nla/core/agent.h"
#include "nla/core/job.h"

namespace scela::nla {

inline constexpr std::uint32_t kRootNode = UINT32_MAX;

struct Context {
  Role role = Role::agent;
  std::uint32_t node = kRootNode;
  Slice slice;                     // nodes this agent answers for, itself first (root: all)
  RankSet handed_back;             // of those, the ones that the root was asked to start instead
  std::vector<std::string> hosts;  // their names
  std::uint32_t nodes = 0;         // in the whole host list
  std::uint32_t degree = 1;
  std::uint32_t grace_ms = 0;
  std::string job_id;
  std::string settings;
  std::uint32_t parent = kRootNode;  // its node
  std::uint32_t adopt_ms = 0;        // event::Begin::adopt_ms
  std::optional<Job> job;
  RankSet own_ranks;                            // on this node
  RankSet subtree_ranks;                        // on the nodes of the slice
  RankSet failed_nodes;                         // reported as failed (numbers of nodes, not ranks)
  RankSet never_ready;                          // of those, the ones whose slice was handed on
  std::vector<msg::NodeFailed> failed_running;  // of those, the ones lost since the ranks run
  RankSet lost_nodes;                           // as everybody is told (msg::NodesLost)
  bool parent_lost = false;
  bool orphaned = false;  // it was lost too, but another may take its place
  // At some time. The new parent speaks of ranks that are not below any more until it has heard.
  bool adopted = false;
  bool done = false;           // Done was sent: nothing follows it
  std::uint64_t messages = 0;  // sent on links
  Actions* out = nullptr;

  bool is_root() const { return role == Role::root; }
  // Agents whose parent is lost are adopted by its parent.
  bool adopts() const { return adopt_ms > 0 && job && job->on_failure == OnFailure::wait; }
  const std::string& host(std::uint32_t index) const { return hosts[index - slice.first]; }

  // How many of them count where a bound is so much for each rank: those that the job began with,
  // or a rank could have more by asking for more ranks.
  std::uint64_t shares(const RankSet& ranks) const {
    if (!job) return ranks.size();
    return std::max<std::uint64_t>(ranks.intersection(job->ranks_of_world(0)).size(), 1);
  }

  template <class A>
  void act(A&& action) {
    out->emplace_back(std::forward<A>(action));
  }
  void send(LinkId link, Message message) {
    if (link == kParentLink && (parent_lost || orphaned || done)) return;
    ++messages;
    act(action::Send{link, std::move(message)});
  }
  void send_up(Message message) { send(kParentLink, std::move(message)); }
};

}  // namespace scela::nla
