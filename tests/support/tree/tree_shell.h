// The launcher's shell on top of a tree of agent cores: what it gives the root, and what the root
// has shown. One thread uses this part.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/tree/tree_events.h"
#include "tests/support/tree/tree_nodes.h"

namespace scela::nla::testing {

class TreeShell {
 public:
  TreeShell(const TreeNodes& nodes, TreeEvents& events, std::uint32_t hosts, std::uint32_t degree)
      : nodes_(nodes), events_(events), degree_(degree) {
    for (std::uint32_t i = 0; i < hosts; ++i)
      hosts_.push_back(host_name(i));
  }

  std::uint32_t adopt_ms = 0;
  // If false, what is shown is written only by show_on().
  bool show = true;

  // The root has shown these.
  std::vector<action::NodeFailed> failures;
  std::vector<action::FirstFailure> first_failures;
  std::string output;
  std::vector<action::JobEnded> ended;
  std::vector<action::WorldLaunched> worlds;
  std::vector<action::Inspected> inspected;
  std::vector<Slice> added;  // by add_hosts(), as the root has told
  std::vector<World> added_worlds;
  bool ready = false;
  std::uint32_t ready_agents = 0;
  bool launched = false;
  std::uint64_t input_wanted = 0;  // bytes the root may read, in all

  void begin() {
    event::Begin begin;
    begin.job_id = "test";
    begin.hosts = hosts_;
    begin.degree = degree_;
    begin.grace_ms = 2000;
    begin.adopt_ms = adopt_ms;
    events_.post(0, std::move(begin));
  }
  void launch(Job job) {
    size_ = job.map.size();
    events_.post(0, event::Launch{std::move(job)});
  }
  void add_hosts(std::uint32_t count) {
    event::AddHosts more;
    for (; count > 0; --count) {
      more.hosts.push_back(host_name(hosts()));
      hosts_.push_back(more.hosts.back());
    }
    events_.post(0, std::move(more));
  }
  void show_on() {
    show = true;
    events_.post(0, event::OutputWritten{std::exchange(unwritten_, 0)});
  }

  void on(int, action::NodeFailed& failed) { failures.push_back(failed); }
  void on(int, action::AllReady& all) {
    ready = true;
    ready_agents = all.agents;
  }
  void on(int, action::AllLaunched&) { launched = true; }
  void on(int, action::ShowOutput& shown) {
    output += shown.bytes.view();
    unwritten_ += shown.bytes.size();
    if (show) events_.post(0, event::OutputWritten{std::exchange(unwritten_, 0)});
  }
  void on(int, action::FirstFailure& failure) { first_failures.push_back(failure); }
  void on(int, action::JobEnded& end) { ended.push_back(end); }
  // Places the ranks round the hosts that have an agent, as far as the root was told, from the
  // first.
  void on(int, action::Spawn& spawn) {
    event::Planned planned{spawn.rank, spawn.id, {}, {}};
    planned.world.first = size_;
    planned.world.parent = spawn.rank;
    planned.world.preput = spawn.request.preput;
    std::uint32_t host = 0;
    for (const SpawnProgram& program : spawn.request.programs) {
      App app;
      app.argv = program.argv;
      app.ranks = RankSet::run(size_, program.ranks);
      planned.world.apps.push_back(app);
      for (std::uint32_t i = 0; i < program.ranks; ++i, ++host) {
        while (!usable(host % hosts()))
          ++host;
        planned.world.map.append(host % hosts(), 1);
      }
      size_ += program.ranks;
    }
    events_.post(0, std::move(planned));
  }
  void on(int, action::WorldLaunched& world) { worlds.push_back(world); }
  void on(int, action::Inspected& piece) { inspected.push_back(piece); }
  void on(int, action::HostsAdded& all) { added.push_back(all.nodes); }
  void on(int from, action::AddWorld& add) {
    if (from == 0) added_worlds.push_back(add.world);
  }
  void on(int, action::ReadStdin& read) { input_wanted += read.bytes; }

 private:
  static std::string host_name(std::uint32_t host) { return "n" + std::to_string(host); }
  std::uint32_t hosts() const { return static_cast<std::uint32_t>(hosts_.size()); }
  // Returns true if the host has an agent and was not reported as failed.
  bool usable(std::uint32_t host) const {
    return nodes_.agent_of(host) >= 0 &&
           std::none_of(failures.begin(), failures.end(),
                        [&](const action::NodeFailed& one) { return one.failure.node == host; });
  }

  const TreeNodes& nodes_;
  TreeEvents& events_;
  std::uint32_t degree_;
  std::vector<std::string> hosts_;  // with those that were added
  Rank size_ = 0;                   // ranks that the job has by now
  std::uint64_t unwritten_ = 0;
};

}  // namespace scela::nla::testing
