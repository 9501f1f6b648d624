// Starts agents for ranks that are spawned on hosts without an agent, and keeps track of which
// spawn waits for which host. Spawning (spawning.h) uses it, in the session's one thread.
//
// The class does bookkeeping only; three hooks do the work. The first finds out how hosts are
// reached, the second has the root agent start their agents, and the third gets the result. The
// spawn is planned again when all its agents run. If the agent of a host cannot be started, all
// spawns that wait for this host fail, and no other part of the job does.
//
// The steps are ask(), the hook `find`, found(), the hook `start`, added(), and the hook `planned`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/plan/plan.h"
#include "launcher/spawn/spawn_plan.h"
#include "nla/core/tree/actions.h"

namespace scela {

// The spawns that wait for agents of new hosts.
class HostExpansion {
 public:
  // The functions that the owner provides. They are called from within calls of this object.
  struct Hooks {
    // Finds out how these hosts are reached. The owner calls found() later.
    std::function<void(const std::vector<std::string>& hosts)> find;
    // Starts agents on these hosts, as the next nodes of the tree. A contact is a line that says
    // how a host is reached (nla/core/wire/contact.h). The owner calls added() later.
    std::function<void(const std::vector<std::string>& contacts)> start;
    // Gets the result of a spawn: the planned world if all of its hosts have an agent, or an error.
    std::function<void(const nla::action::Spawn& asked, Result<nla::World> planned)> planned;
  };

  // `failed` has the numbers of the nodes that no longer have an agent. `plan` and `failed` must
  // outlive this object. `most` is the largest number of children that the root agent may get in
  // this way.
  HostExpansion(Plan& plan, const RankSet& failed, std::uint32_t most, Hooks hooks)
      : plan_(plan), failed_(failed), max_(most), hooks_(std::move(hooks)) {}

  // Plans a spawn that a rank asked for. The hook `planned` gets the result, from within this call
  // or later.
  void ask(const nla::action::Spawn& asked);
  // Takes the answers to the hook `find`, for some or all of its hosts. The hosts that can be
  // reached join the plan, and their agents are started. Hosts that cannot be reached fail the
  // spawns that wait for them.
  void found(const std::vector<HostLookup>& hosts);
  // Notes that a node has no agent. Returns true if the node was being started for a spawn. Only
  // the spawns that wait for it fail then, once added() is called. Returns false for any other
  // node.
  bool failed(const nla::msg::NodeFailed& failure);
  // Takes the end of a start: each of these nodes has an agent now, or failed() named it before.
  // Goes on with the spawns that waited for them.
  void added(const Slice& nodes);

 private:
  // A spawn that waits. `hosts` has the hosts that it still waits for.
  struct Waiting {
    nla::action::Spawn asked;
    std::set<std::string> hosts;
  };
  // Maps each host that is no longer waited for to the reason why its agent could not be started.
  // The reason is empty if the agent runs.
  using Settled = std::map<std::string, std::string>;
  // Takes these hosts out of what all spawns wait for. If one of them has failed, the spawns that
  // waited for it fail. A spawn that waits for no more hosts is planned again.
  void settle(const Settled& hosts);
  // Returns the hosts of the plan on which no agent runs yet. An agent may be being started there.
  std::set<std::string> hosts_of(const SpawnPlan& made) const;

  Plan& plan_;
  const RankSet& failed_;
  const std::uint32_t max_;
  const Hooks hooks_;
  std::vector<Waiting> waiting_;
  std::set<std::string> under_way_;           // all hosts that are waited for
  std::map<std::uint32_t, std::string> why_;  // failures of nodes in starting_
  RankSet starting_;                          // nodes that are getting an agent
  std::uint32_t children_ = 0;                // children of the root for spawns
};

}  // namespace scela
