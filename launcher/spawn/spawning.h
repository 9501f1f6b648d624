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

  // Must be called before any other function. `find` is HostAccess::find_later.
  void open(boost::asio::io_context& io, HostFinder::Find find);
  void close();

  void on(const nla::action::Spawn& asked);
  void on(const nla::action::HostsAdded& added) { expansion_.added(added.nodes); }
  void on(const nla::action::WorldLaunched& launched);
  // Returns true if the node was being started for a spawn. Only the spawns that wait for it fail
  // then.
  bool failed(const nla::msg::NodeFailed& failure) { return expansion_.failed(failure); }

  // Returns the ranks of worlds that could not be started. They do not count as failed ranks.
  const RankSet& unspawned() const { return unspawned_; }

 private:
  HostExpansion::Hooks growth_hooks();
  void planned(const nla::action::Spawn& spawn, Result<nla::World> world);
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
