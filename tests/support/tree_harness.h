// A whole tree of agent cores in one thread, without time: events are handled in order of arrival.
//
// Unit tests of nla/core use it to see one thing happen. The simulator (tests/sim) is the place for
// delays, faults drawn from seeds and invariants.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nla/core/tree/agent.h"

namespace scela::nla::testing {

class TreeHarness {
 public:
  struct Node {
    explicit Node(Role role) : agent(role) {}
    Agent agent;
    int parent = -1;  // position in nodes_
    LinkId link_at_parent = 0;
    std::map<LinkId, int> children;
    bool dead = false;
    std::uint32_t host = UINT32_MAX;
    RankSet running;
    std::set<Timer> timers;
    std::vector<int> signals;
    bool left = false;
    bool awaiting = false;  // to be adopted
    std::vector<WindowSize> windows;
    RankSet failed;            // as ranks of this node are told
    std::vector<Action> news;  // what its ranks' server is told, in order
  };
  struct Answered {
    Rank rank;
    RequestId id;
    Response response;
  };

  // Hosts on which no agent can be started.
  std::set<std::uint32_t> unreachable;
  // Hosts on which the start of the agent lasts until answer_of_slow().
  std::set<std::uint32_t> slow;
  // Hosts with an agent that may not start others.
  std::set<std::uint32_t> keyless;
  // Ranks that cannot be started.
  std::set<Rank> not_startable;
  // Hosts that cannot hold their ranks.
  std::set<std::uint32_t> refusing;
  bool ranks_obey_signals = true;
  std::uint32_t adopt_ms = 0;
  bool show = true;          // what is shown is written at once
  bool hold_attach = false;  // no attempt to adopt an agent arrives
  bool hold_ranks = false;   // no rank starts until start_held()

  std::vector<Answered> answers;
  std::vector<action::NodeFailed> failures;
  std::vector<action::FirstFailure> first_failures;
  std::string output;
  std::vector<action::JobEnded> ended;
  std::vector<action::WorldLaunched> worlds;
  std::vector<Slice> added;  // by add_hosts(), as the root has told
  std::vector<World> added_worlds;
  bool ready = false;
  std::uint32_t ready_agents = 0;
  bool launched = false;
  std::uint64_t sends = 0;
  std::uint64_t input_wanted = 0;  // bytes the root may read, in all
  bool root_left = false;

  TreeHarness(std::uint32_t hosts, std::uint32_t degree) {
    nodes_.push_back(std::make_unique<Node>(Role::root));
    event::Begin begin;
    begin.job_id = "test";
    for (std::uint32_t i = 0; i < hosts; ++i)
      begin.hosts.push_back("n" + std::to_string(i));
    begin.degree = degree;
    begin.grace_ms = 2000;
    begin_ = begin;
  }

  void begin() {
    begin_.adopt_ms = adopt_ms;
    post(0, begin_);
    run();
  }
  void launch(Job job) {
    size_ = job.map.size();
    post(0, event::Launch{std::move(job)});
    run();
  }
  void add_hosts(std::uint32_t count) {
    event::AddHosts more;
    for (; count > 0; --count)
      more.hosts.push_back("n" + std::to_string(begin_.hosts.size() + later_++));
    post(0, std::move(more));
    run();
  }
  // A job of `ppn` ranks on each of the hosts.
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
    post(node_of(rank), event::Asked{rank, id, std::move(request)});
  }
  void exit(Rank rank, Outcome outcome = {}) {
    const int at = node_of(rank);
    if (at < 0 || !nodes_[static_cast<std::size_t>(at)]->running.contains(rank)) return;
    nodes_[static_cast<std::size_t>(at)]->running.remove(RankSet::single(rank));
    post(at, event::RankStreamEnded{rank, Stream::out});
    post(at, event::RankStreamEnded{rank, Stream::err});
    post(at, event::RankExited{rank, std::move(outcome)});
  }
  void exit_all() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const RankSet ranks = nodes_[i]->running;
      ranks.for_each([&](Rank rank) { exit(rank); });
    }
    run();
  }
  // Kills the agent of a host with its node's ranks. Everything of it is gone.
  void crash(std::uint32_t host) {
    const int at_of = agent_of(host);
    Node& node = at(at_of);
    node.dead = true;
    node.running = {};
    post(node.parent, event::LinkEnded{node.link_at_parent, "crashed"});
    post(node.parent, event::ChildGone{node.link_at_parent});
    for (const auto& [link, child] : node.children) {
      if (at(child).parent == at_of) post(child, event::LinkEnded{kParentLink, "parent crashed"});
    }
  }
  void fire(std::uint32_t host, Timer timer) {
    const int at = host == UINT32_MAX ? 0 : agent_of(host);
    nodes_[static_cast<std::size_t>(at)]->timers.erase(timer);
    post(at, event::TimerFired{timer});
    run();
  }
  void show_on() {
    show = true;
    post(0, event::OutputWritten{std::exchange(unwritten_, 0)});
    run();
  }
  void start_held() {
    for (auto& [from, ranks] : std::exchange(held_, {})) {
      action::StartRanks start{ranks};
      if (!at(from).dead) carry_out(from, start);
    }
    run();
  }
  void release_attach() {
    hold_attach = false;
    for (const auto& [orphan, adopter] : std::exchange(attaching_, {}))
      join(orphan, adopter.first, adopter.second);
    run();
  }
  void answer_of_slow() {
    slow.clear();
    for (const auto& [from, start] : std::exchange(starting_, {}))
      begin_agent(from, start);
    run();
  }
  // Calls `what` once, before this number of events have been handled from now on.
  void interrupt_after(std::uint64_t events, std::function<void()> what) {
    events_until_ = events;
    interrupt_ = std::move(what);
  }
  bool interrupted() const { return events_until_ == 0; }
  void post(int node, Event event) { queue_.emplace_back(node, std::move(event)); }
  void post_to_host(std::uint32_t host, Event event) { post(agent_of(host), std::move(event)); }
  void run() {
    while (!queue_.empty()) {
      if (events_until_ > 0 && --events_until_ == 0) std::exchange(interrupt_, nullptr)();
      const int who = queue_.front().first;
      const Event event = std::move(queue_.front().second);
      queue_.pop_front();
      Node& node = *nodes_[static_cast<std::size_t>(who)];
      if (node.dead || node.left) continue;
      Actions actions;
      node.agent.handle(event, actions);
      for (Action& action : actions) {
        std::visit([&](auto& one) { carry_out(who, one); }, action);
      }
    }
  }

  int agent_of(std::uint32_t host) const {
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      if (nodes_[i]->host == host && !nodes_[i]->dead) return static_cast<int>(i);
    }
    return -1;
  }
  Node& node(std::uint32_t host) { return *nodes_[static_cast<std::size_t>(agent_of(host))]; }
  Node& root() { return *nodes_[0]; }
  std::size_t agents() const { return nodes_.size() - 1; }
  bool everybody_left() const {
    for (const auto& node : nodes_) {
      if (!node->left && !node->dead) return false;
    }
    return true;
  }
  const Response* answer(Rank rank, RequestId id = 1) const {
    for (const Answered& one : answers) {
      if (one.rank == rank && one.id == id) return &one.response;
    }
    return nullptr;
  }

 private:
  int node_of(Rank rank) const {
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      if (nodes_[i]->running.contains(rank)) return static_cast<int>(i);
    }
    return -1;
  }
  bool reported(std::uint32_t host) const {
    for (const action::NodeFailed& one : failures)
      if (one.failure.node == host) return true;
    return false;
  }
  Node& at(int index) { return *nodes_[static_cast<std::size_t>(index)]; }

  void carry_out(int from, action::Send& send) {
    ++sends;
    if (send.link == kParentLink) {
      if (from == 0) return;
      post(at(from).parent, event::Received{at(from).link_at_parent, std::move(send.message), 0});
    } else if (const auto child = at(from).children.find(send.link);
               child != at(from).children.end()) {
      post(child->second, event::Received{kParentLink, std::move(send.message), 0});
    } else {
      unsent_[{from, send.link}].push_back(std::move(send.message));
    }
  }
  void carry_out(int from, action::StartChild& start) {
    if (from != 0 && keyless.contains(at(from).host)) {
      post(from, event::ChildFailed{start.link, StartPhase::authenticate, "no key", true});
      return;
    }
    if (unreachable.contains(start.node)) {
      post(from, event::ChildFailed{start.link, StartPhase::connect, "connection refused", false});
      return;
    }
    if (start.attach) return attach(from, start.link, start.node);
    post(from, event::ChildBegun{start.link});
    if (slow.contains(start.node)) {
      starting_.emplace_back(from, start);
    } else {
      begin_agent(from, start);
    }
  }
  void begin_agent(int from, const action::StartChild& start) {
    nodes_.push_back(std::make_unique<Node>(Role::agent));
    nodes_.back()->host = start.node;
    join(static_cast<int>(nodes_.size() - 1), from, start.link);
  }
  void attach(int from, LinkId link, std::uint32_t host) {
    const int orphan = agent_of(host);
    if (orphan < 0) {
      post(from, event::ChildFailed{link, StartPhase::connect, "nobody is there", false});
      return;
    }
    // An orphan may hear of its loss later.
    if (!at(orphan).awaiting || hold_attach) {
      attaching_[orphan] = {from, link};
    } else {
      join(orphan, from, link);
    }
  }
  void join(int orphan, int from, LinkId link) {
    at(orphan).awaiting = false;
    at(orphan).parent = from;
    at(orphan).link_at_parent = link;
    at(from).children[link] = orphan;
    for (auto& message : std::exchange(unsent_[{from, link}], {}))
      post(orphan, event::Received{kParentLink, std::move(message), 0});
  }
  void carry_out(int from, action::AwaitAdoption& await) {
    at(from).awaiting = await.still;
    const auto waiting = attaching_.find(from);
    if (!await.still || waiting == attaching_.end() || hold_attach) return;
    const auto [parent, link] = waiting->second;
    attaching_.erase(waiting);
    join(from, parent, link);
  }
  void carry_out(int from, action::CloseLink& close) {
    const auto child = at(from).children.find(close.link);
    if (child == at(from).children.end()) return;
    post(child->second, event::LinkEnded{kParentLink, "closed"});
  }
  void carry_out(int from, action::StartRanks& start) {
    if (refusing.contains(at(from).host)) {
      return post(from, event::RanksRefused{start.ranks, 11, "too many"});
    }
    if (hold_ranks) return held_.emplace_back(from, start.ranks), void();
    start.ranks.for_each([&](Rank rank) {
      if (not_startable.contains(rank)) {
        post(from, event::RankNotStarted{rank, 2, "program: No such file or directory"});
      } else {
        at(from).running.add(rank);
        post(from, event::RankStarted{rank});
      }
    });
  }
  void carry_out(int from, action::SignalRanks& signal) {
    at(from).signals.push_back(signal.signo);
    if (ranks_obey_signals || signal.signo == 9) kill_ranks(from, signal.signo);
  }
  void carry_out(int from, action::EndLeftovers& end) {
    if (end.force) kill_ranks(from, 9);
    if (at(from).running.empty()) post(from, event::NodeEmpty{});
  }
  void kill_ranks(int from, int signo) {
    const RankSet ranks = at(from).running;
    ranks.for_each([&](Rank rank) {
      Outcome outcome;
      outcome.ending = Ending::signaled;
      outcome.code = signo;
      exit(rank, outcome);
    });
  }
  void carry_out(int from, action::SetTimer& timer) { at(from).timers.insert(timer.timer); }
  void carry_out(int from, action::CancelTimer& timer) { at(from).timers.erase(timer.timer); }
  void carry_out(int, action::Reply& reply) {
    answers.push_back({reply.rank, reply.id, std::move(reply.response)});
  }
  void carry_out(int from, action::Finishing&) { post(from, event::Measured{100, 1000, 2000}); }
  void carry_out(int from, action::Finish&) {
    at(from).left = true;
    if (from == 0) {
      root_left = true;
      return;
    }
    post(at(from).parent, event::LinkEnded{at(from).link_at_parent, ""});
    post(at(from).parent, event::ChildGone{at(from).link_at_parent});
  }
  void carry_out(int, action::NodeFailed& failed) { failures.push_back(failed); }
  void carry_out(int, action::AllReady& all) {
    ready = true;
    ready_agents = all.agents;
  }
  void carry_out(int, action::AllLaunched&) { launched = true; }
  void carry_out(int, action::ShowOutput& shown) {
    output += shown.bytes.view();
    unwritten_ += shown.bytes.size();
    if (show) post(0, event::OutputWritten{std::exchange(unwritten_, 0)});
  }
  void carry_out(int, action::FirstFailure& failure) { first_failures.push_back(failure); }
  void carry_out(int, action::JobEnded& end) { ended.push_back(end); }
  void carry_out(int from, action::WriteStdin& write) {
    taken_[from] += write.bytes.size();
    post(from, event::StdinTaken{taken_[from]});
  }
  void carry_out(int from, action::ResizeTerminal& resize) {
    at(from).windows.push_back(resize.size);
  }
  void carry_out(int from, action::RanksFailed& failed) {
    at(from).failed.add(failed.ranks);
    at(from).news.emplace_back(failed);
  }
  void carry_out(int from, action::NodesLost& lost) { at(from).news.emplace_back(lost); }
  void carry_out(int from, action::Reconnected& again) { at(from).news.emplace_back(again); }
  // Places the ranks round the hosts that have an agent, as far as the root was told, from the
  // first.
  void carry_out(int, action::Spawn& spawn) {
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
        while (agent_of(host % hosts()) < 0 || reported(host % hosts()))
          ++host;
        planned.world.map.append(host % hosts(), 1);
      }
      size_ += program.ranks;
    }
    post(0, std::move(planned));
  }
  void carry_out(int, action::WorldLaunched& world) { worlds.push_back(world); }
  void carry_out(int from, action::EndRanks& end) {
    end.ranks.for_each([&](Rank rank) {
      if (at(from).running.contains(rank)) exit(rank, {Ending::signaled, 9, false, false, {}});
    });
  }
  void carry_out(int, action::HostsAdded& all) { added.push_back(all.nodes); }
  std::uint32_t hosts() const { return static_cast<std::uint32_t>(begin_.hosts.size()) + later_; }
  void carry_out(int from, action::AddWorld& add) {
    if (from == 0) added_worlds.push_back(add.world);
  }
  void carry_out(int, action::UseJob&) {}
  void carry_out(int, action::ReadOutput&) {}
  void carry_out(int, action::DropStreams&) {}
  void carry_out(int, action::ShowLog&) {}
  void carry_out(int, action::ReadStdin& read) { input_wanted += read.bytes; }
  void carry_out(int, action::TracePiece&) {}

  std::vector<std::unique_ptr<Node>> nodes_;
  std::deque<std::pair<int, Event>> queue_;
  std::uint64_t events_until_ = 0;
  std::function<void()> interrupt_;
  std::uint64_t unwritten_ = 0;
  std::map<int, std::uint64_t> taken_;
  std::vector<std::pair<int, RankSet>> held_;
  std::uint32_t later_ = 0;                          // hosts that were added
  Rank size_ = 0;                                    // ranks that the job has by now
  std::map<int, std::pair<int, LinkId>> attaching_;  // by orphan: its adopter and the link
  std::vector<std::pair<int, action::StartChild>> starting_;
  std::map<std::pair<int, LinkId>, std::vector<Message>> unsent_;
  event::Begin begin_;
};

}  // namespace scela::nla::testing
