// The programs of the ranks of a tree of agent cores: how they start and end, what they ask and are
// answered, and what they are told of others. One thread uses this part.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/tree/tree_events.h"
#include "tests/support/tree/tree_nodes.h"

namespace scela::nla::testing {

class TreePrograms {
 public:
  struct Answered {
    Rank rank;
    RequestId id;
    Response response;
  };

  TreePrograms(TreeNodes& nodes, TreeEvents& events) : nodes_(nodes), events_(events) {}

  // Ranks that cannot be started.
  std::set<Rank> not_startable;
  // Hosts that cannot hold their ranks.
  std::set<std::uint32_t> refusing;
  // If false, a rank survives every signal but SIGKILL.
  bool obey_signals = true;
  // If true, no rank starts until start_held().
  bool hold = false;
  std::vector<Answered> answers;

  void ask(Rank rank, Request request, RequestId id) {
    events_.post(nodes_.node_of(rank), event::Asked{rank, id, std::move(request)});
  }
  // Returns the answer to this question of the rank, or nullptr.
  const Response* answer(Rank rank, RequestId id) const {
    for (const Answered& one : answers) {
      if (one.rank == rank && one.id == id) return &one.response;
    }
    return nullptr;
  }
  // Does nothing if the rank does not run.
  void exit(Rank rank, Outcome outcome) {
    const int node = nodes_.node_of(rank);
    if (node < 0) return;
    nodes_.at(node).running.remove(RankSet::single(rank));
    events_.post(node, event::RankStreamEnded{rank, Stream::out});
    events_.post(node, event::RankStreamEnded{rank, Stream::err});
    events_.post(node, event::RankExited{rank, std::move(outcome)});
  }
  void exit_all() {
    for (int node = 0; node < nodes_.size(); ++node) {
      const RankSet ranks = nodes_.at(node).running;
      ranks.for_each([&](Rank rank) { exit(rank, {}); });
    }
  }
  // Starts the ranks that wait, although `hold` may be true.
  void start_held() {
    for (const auto& [node, ranks] : std::exchange(held_, {})) {
      if (nodes_.at(node).state == TreeNode::State::dead) continue;
      action::StartRanks start{ranks};
      on(node, start);
    }
  }

  void on(int from, action::StartRanks& start) {
    if (refusing.contains(nodes_.at(from).host)) {
      return events_.post(from, event::RanksRefused{start.ranks, 11, "too many"});
    }
    if (hold) {
      held_.emplace_back(from, start.ranks);
      return;
    }
    start.ranks.for_each([&](Rank rank) {
      if (not_startable.contains(rank)) {
        events_.post(from, event::RankNotStarted{rank, 2, "program: No such file or directory"});
      } else {
        nodes_.at(from).running.add(rank);
        events_.post(from, event::RankStarted{rank});
      }
    });
  }
  void on(int from, action::SignalRanks& signal) {
    nodes_.at(from).signals.push_back(signal.signo);
    if (obey_signals || signal.signo == 9) kill(nodes_.at(from).running, signal.signo);
  }
  void on(int from, action::EndLeftovers& end) {
    if (end.force) kill(nodes_.at(from).running, 9);
    if (nodes_.at(from).running.empty()) events_.post(from, event::NodeEmpty{});
  }
  void on(int from, action::EndRanks& end) {
    kill(end.ranks.intersection(nodes_.at(from).running), 9);
  }
  void on(int, action::Reply& reply) {
    answers.push_back({reply.rank, reply.id, std::move(reply.response)});
  }
  void on(int from, action::WriteStdin& write) {
    taken_[from] += write.bytes.size();
    events_.post(from, event::StdinTaken{taken_[from]});
  }
  void on(int from, action::ResizeTerminal& resize) {
    nodes_.at(from).windows.push_back(resize.size);
  }
  void on(int from, action::RanksFailed& failed) {
    nodes_.at(from).failed.add(failed.ranks);
    nodes_.at(from).news.emplace_back(failed);
  }
  void on(int from, action::NodesLost& lost) { nodes_.at(from).news.emplace_back(lost); }
  void on(int from, action::Reconnected& again) { nodes_.at(from).news.emplace_back(again); }

 private:
  void kill(const RankSet& ranks, int signo) {
    std::vector<Rank> killed;  // before the first ends, which changes the ranks of its node
    ranks.for_each([&](Rank rank) { killed.push_back(rank); });
    for (const Rank rank : killed)
      exit(rank, {Ending::signaled, signo, false, false, {}});
  }

  TreeNodes& nodes_;
  TreeEvents& events_;
  std::vector<std::pair<int, RankSet>> held_;
  std::map<int, std::uint64_t> taken_;  // bytes of standard input
};

}  // namespace scela::nla::testing
