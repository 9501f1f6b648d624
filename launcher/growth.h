// Ranks that are spawned on hosts that have no agent yet: who waits for which host.
//
// Pure bookkeeping between three others, given as hooks: how hosts are reached is found out, the
// root agent starts their agents, and the spawn is planned again when they are there. A host whose
// agent cannot be started is the answer to all spawns that wait for it, and nobody else's failure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/plan.h"
#include "launcher/spawn_plan.h"
#include "nla/core/actions.h"

namespace scela {

class Growth {
 public:
  struct Hooks {
    // Find out how these are reached; found() follows, sooner or later.
    std::function<void(const std::vector<std::string>& hosts)> find;
    // Start their agents, as the next nodes of the tree; added() follows.
    std::function<void(const std::vector<std::string>& contacts)> start;
    // What becomes of a spawn. Planned: all of its hosts have an agent.
    std::function<void(const nla::action::Spawn& asked, Result<nla::World> planned)> planned;
  };

  // `failed`: numbers of nodes that have no agent any more. Both outlive this. `most`: children
  // that the root may get so.
  Growth(Plan& plan, const RankSet& failed, std::uint32_t most, Hooks hooks)
      : plan_(plan), failed_(failed), most_(most), hooks_(std::move(hooks)) {}

  void ask(const nla::action::Spawn& asked);
  void found(const std::vector<FoundHost>& hosts);
  // Whether that node was being started for this, so that nothing else has failed.
  bool failed(const nla::msg::NodeFailed& failure);
  void added(const Slice& nodes);

 private:
  struct Waiting {
    nla::action::Spawn asked;
    std::set<std::string> hosts;
  };
  // Hosts that are not waited for any more, and why if their agents could not be started.
  using Settled = std::map<std::string, std::string>;
  void settle(const Settled& hosts);
  std::set<std::string> hosts_of(const SpawnPlan& made) const;

  Plan& plan_;
  const RankSet& failed_;
  const std::uint32_t most_;
  const Hooks hooks_;
  std::vector<Waiting> waiting_;
  std::set<std::string> under_way_;           // all hosts that are waited for
  std::map<std::uint32_t, std::string> why_;  // of nodes under way that have failed
  RankSet starting_;                          // nodes under way
  std::uint32_t children_ = 0;                // of the root, that have come so
};

}  // namespace scela
