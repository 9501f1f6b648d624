// Handles spawns at the root: plans them, has agents started on hosts that have none
// (host_expansion.h), and tells the user about spawns that failed. It is a part of the session and
// runs in its thread. It does not handle output, signals or the end of the job.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launcher/core/options/options.h"
#include "launcher/hosts/host_finder.h"
#include "launcher/io/log.h"
#include "launcher/io/stderr_writer.h"
#include "launcher/plan/plan.h"
#include "launcher/spawn/host_expansion.h"
#include "nla/core/tree/actions.h"

namespace boost::asio {
class io_context;
}

namespace scela {

class Spawning {
 public:
  struct Sides {
    std::function<void(nla::Event)> post;  // sends an event to the root agent
    std::function<void()> more_ranks;      // the plan's job has grown
  };

  // All references must outlive this object. `failed` has the numbers of the nodes that no longer
  // have an agent.
  Spawning(Plan& plan, const RankSet& failed, const Options& options, StderrWriter& person,
           Log& log, Sides sides);

  // Must be called before any other function. `find` is HostAccess::find_later. `io` must outlive
  // this object.
  void open(boost::asio::io_context& io, HostFinder::Find find);
  // No host is looked up any more, and no found host is reported. Requires open().
  void close();

  // Takes an action of the root agent. Spawn: plans it and posts event::Planned, at once or when
  // its hosts have agents. WorldLaunched: its ranks run, or `why` says why they do not.
  void on(const nla::action::Spawn& asked);
  void on(const nla::action::HostsAdded& added) { expansion_.added(added.nodes); }
  void on(const nla::action::WorldLaunched& launched);
  // Returns true if the node was being started for a spawn. Only the spawns that wait for it fail
  // then.
  bool failed(const nla::msg::NodeFailed& failure) { return expansion_.failed(failure); }

  // Returns the ranks of worlds that could not be started. They do not count as failed ranks.
  const RankSet& unspawned() const { return unspawned_; }

 private:
  // Returns the hooks of expansion_, which refer to this object.
  HostExpansion::Hooks growth_hooks();
  // Posts the result of a spawn to the root agent. A planned world is added to the job first.
  void planned(const nla::action::Spawn& spawn, Result<nla::World> world);
  // Tells the user that a rank could not spawn, for a bounded number of failures.
  void tell_failed(Rank asker, const std::string& why);

  Plan& plan_;
  const Options& options_;
  StderrWriter& person_;
  Log& log_;
  const Sides sides_;
  RankSet unspawned_;
  std::uint32_t told_ = 0;  // failures already told to the user
  HostExpansion expansion_;
  HostFinder::Find find_;
  std::unique_ptr<HostFinder> finder_;
};

}  // namespace scela
