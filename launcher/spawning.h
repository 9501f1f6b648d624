// What becomes of spawns, from the root's point of view: they are planned, on hosts that get their
// agents for it where they have none (growth.h), and who could not be started is told of.
//
// Part of a session, in its thread. Knows nothing of output, signals and the end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launcher/core/options.h"
#include "launcher/growth.h"
#include "launcher/host_finder.h"
#include "launcher/log.h"
#include "launcher/plan.h"
#include "launcher/stderr_writer.h"
#include "nla/core/actions.h"

namespace boost::asio {
class io_context;
}

namespace scela {

class Spawning {
 public:
  struct Sides {
    std::function<void(nla::Event)> post;  // to the root agent
    std::function<void()> more_ranks;      // the plan's job has grown
  };

  // All are borrowed. `failed`: numbers of nodes that have no agent any more.
  Spawning(Plan& plan, const RankSet& failed, const Options& options, StderrWriter& person,
           Log& log, Sides sides);

  // Before any of the others. `find`: as Reach::find_later.
  void open(boost::asio::io_context& io, HostFinder::Find find);
  void close();

  void on(const nla::action::Spawn& asked);
  void on(const nla::action::HostsAdded& added) { growth_.added(added.nodes); }
  void on(const nla::action::WorldLaunched& launched);
  // Whether that node was being started for a spawn, so that nothing else has failed.
  bool failed(const nla::msg::NodeFailed& failure) { return growth_.failed(failure); }

  // Ranks of worlds that were not to be: nobody's failure.
  const RankSet& unspawned() const { return unspawned_; }

 private:
  Growth::Hooks growth_hooks();
  void planned(const nla::action::Spawn& spawn, Result<nla::World> world);
  void tell_failed(Rank asker, const std::string& why);

  Plan& plan_;
  const Options& options_;
  StderrWriter& person_;
  Log& log_;
  const Sides sides_;
  RankSet unspawned_;
  std::uint32_t told_ = 0;  // failures that the user was told of
  Growth growth_;
  HostFinder::Find find_;
  std::unique_ptr<HostFinder> finder_;
};

}  // namespace scela
