// Handles spawns at the root: plans them, has agents started on hosts that have none
// (host_expansion.h), and tells the user about spawns that failed. It is a part of the session and
// runs in its thread. It does not handle output, signals or the end of the job.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launcher/core/options/options.h"
#include "launcher/hosts/host_finder.h"
#include "launcher/io/log_output.h"
#include "launcher/io/stderr_writer.h"
#include "launcher/plan/plan.h"
#include "launcher/spawn/host_expansion.h"
#include "nla/core/tree/actions.h"

namespace boost::asio {
class io_context;
}

namespace scela {

// The spawns of a job, as the root of the tree handles them.
class Spawning {
 public:
  // The functions that the session provides.
  struct Hooks {
    std::function<void(nla::Event)> post;  // sends an event to the root agent
    std::function<void()> more_ranks;      // called when the job got more ranks
  };

  // All references must outlive this object. `plan` grows with each spawn. `failed` has the numbers
  // of the nodes that no longer have an agent. `person` takes errors for the user, and `log` the
  // lines of -v.
  Spawning(Plan& plan, const RankSet& failed, const Options& options, StderrWriter& person,
           Log& log, Hooks sides);

  // Must be called once, before any other function. `io` is the event loop and must outlive this
  // object. `find` blocks and returns how hosts are reached (HostContacts::find_later); it may run
  // in another thread.
  void open(boost::asio::io_context& io, HostFinder::Find find);
  // Takes the host of an agent that has joined late. Ranks can be spawned there from now on, unless
  // a host of the job has its name.
  void add_host(const HostEntry& host);
  // Ends the lookup of hosts: no found host is reported any more. Requires open().
  void close();

  // Takes the root agent's request to plan the spawn of a rank. Posts event::Planned with the
  // result, at once or when its hosts have agents.
  void on(const nla::action::Spawn& asked);
  // Takes the root agent's report that it has started, or failed to start, the agents of new hosts.
  void on(const nla::action::HostsAdded& added) { expansion_.added(added.nodes); }
  // Takes the root agent's report on spawned ranks: they run, or `why` says why they do not. In the
  // second case, the user gets the reason.
  void on(const nla::action::WorldLaunched& launched);
  // Must be called if a node has no agent. Returns true if the node was being started for a spawn.
  // Only the spawns that wait for it fail then. Returns false for any other node.
  bool failed(const nla::msg::NodeFailed& failure) { return expansion_.failed(failure); }

  // Returns the ranks of all spawns that could not be started. They do not count as failed ranks.
  const RankSet& unspawned() const { return unspawned_; }

 private:
  // Returns the hooks of expansion_, which refer to this object.
  HostExpansion::Hooks growth_hooks();
  // Posts the result of a spawn to the root agent. A planned world is added to the job first.
  void planned(const nla::action::Spawn& spawn, Result<nla::World> world);
  // Tells the user that a rank could not spawn, for a bounded number of failures.
  void report_failed(Rank asker, const std::string& why);

  Plan& plan_;
  const Options& options_;
  StderrWriter& stderr_;
  Log& log_;
  const Hooks sides_;
  RankSet unspawned_;
  std::uint32_t told_ = 0;  // failures already told to the user
  HostExpansion expansion_;
  HostFinder::Find find_;
  std::unique_ptr<HostFinder> finder_;
};

}  // namespace scela
