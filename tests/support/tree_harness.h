// A whole tree of agent cores in one thread, without time: events are handled in order of arrival.
//
// Unit tests of nla/core use it to see one thing happen. The simulator (tests/sim) is the place for
// delays, faults drawn from seeds and invariants.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "nla/core/tree/agent.h"
#include "tests/support/tree/tree_events.h"
#include "tests/support/tree/tree_links.h"
#include "tests/support/tree/tree_nodes.h"
#include "tests/support/tree/tree_programs.h"
#include "tests/support/tree/tree_shell.h"

namespace scela::nla::testing {

// The parts of a tree, and what a test does to them. Of its functions ask(), exit(), crash() and
// post() only add events, which run() handles. The others handle all events before they return.
class TreeHarness {
 public:
  TreeHarness(std::uint32_t hosts, std::uint32_t degree)
      : links(nodes_, events_), programs(nodes_, events_), shell(nodes_, events_, hosts, degree) {}

  void begin() {
    shell.begin();
    run();
  }
  void launch(Job job) {
    shell.launch(std::move(job));
    run();
  }
  void add_hosts(std::uint32_t count) {
    shell.add_hosts(count);
    run();
  }
  // Returns a job of `ppn` ranks on each of the hosts.
  static Job job(std::uint32_t hosts, std::uint32_t ppn, OnFailure on_failure = OnFailure::kill) {
    Job job;
    job.id = "test";
    App app;
    app.argv = {"program"};
    app.ranks = RankSet::run(0, hosts * ppn);
    job.apps.push_back(app);
    for (std::uint32_t i = 0; i < hosts; ++i)
      job.map.append(i, ppn);
    job.on_failure = on_failure;
    return job;
  }

  void ask(Rank rank, Request request, RequestId id = 1) {
    programs.ask(rank, std::move(request), id);
  }
  const Response* answer(Rank rank, RequestId id = 1) const { return programs.answer(rank, id); }
  void exit(Rank rank, Outcome outcome = {}) { programs.exit(rank, std::move(outcome)); }
  void exit_all() {
    programs.exit_all();
    run();
  }
  // Kills the agent of a host with its node's ranks. Everything of it is gone.
  void crash(std::uint32_t host) { links.crash(agent_of(host)); }
  // Fires a timer of the agent of this host, or of the root if it is UINT32_MAX.
  void fire(std::uint32_t host, Timer timer) {
    const int node = host == UINT32_MAX ? 0 : agent_of(host);
    nodes_.at(node).timers.erase(timer);
    post(node, event::TimerFired{timer});
    run();
  }
  void show_on() {
    shell.show_on();
    run();
  }
  void start_held() {
    programs.start_held();
    run();
  }
  void release_attach() {
    links.release_attach();
    run();
  }
  void answer_of_slow() {
    links.answer_of_slow();
    run();
  }
  // Calls `what` once, before this number of events have been handled from now on.
  void interrupt_after(std::uint64_t events, std::function<void()> what) {
    events_.interrupt_after(events, std::move(what));
  }
  bool interrupted() const { return events_.interrupted(); }
  void post(int node, Event event) { events_.post(node, std::move(event)); }
  void post_to_host(std::uint32_t host, Event event) { post(agent_of(host), std::move(event)); }
  // Handles events until there are no more.
  void run() {
    while (auto next = events_.take()) {
      TreeNode& node = nodes_.at(next->first);
      if (node.state != TreeNode::State::running) continue;
      Actions actions;
      node.agent.handle(next->second, actions);
      for (Action& action : actions)
        std::visit([&](auto& one) { carry_out(next->first, one, links, programs, shell, *this); },
                   action);
    }
  }

  // Returns the node of the agent that serves a host, or -1.
  int agent_of(std::uint32_t host) const { return nodes_.agent_of(host); }
  TreeNode& node(std::uint32_t host) { return nodes_.at(agent_of(host)); }
  TreeNode& root() { return nodes_.at(0); }
  bool root_left() { return root().state == TreeNode::State::left; }
  std::size_t agents() const { return static_cast<std::size_t>(nodes_.size() - 1); }
  bool all_left() const { return nodes_.all_left(); }

 private:
  void on(int from, action::SetTimer& timer) { nodes_.at(from).timers.insert(timer.timer); }
  void on(int from, action::CancelTimer& timer) { nodes_.at(from).timers.erase(timer.timer); }
  void on(int from, action::Finishing&) { post(from, event::Measured{100, 1000, 2000}); }
  // The tests do not look at these.
  void on(int, action::UseJob&) {}
  void on(int, action::ReadOutput&) {}
  void on(int, action::DropStreams&) {}
  void on(int, action::ShowLog&) {}
  void on(int, action::TracePiece&) {}
  void on(int, action::InspectRanks&) {}

  // Passes the action to the first of the parts that does actions of its kind. One of them must.
  template <class A, class First, class... Rest>
  static void carry_out(int from, A& action, First& first, Rest&... rest) {
    if constexpr (requires { first.on(from, action); }) {
      first.on(from, action);
    } else {
      carry_out(from, action, rest...);
    }
  }

  TreeNodes nodes_;
  TreeEvents events_;

 public:
  TreeLinks links;
  TreePrograms programs;
  TreeShell shell;
};

}  // namespace scela::nla::testing
