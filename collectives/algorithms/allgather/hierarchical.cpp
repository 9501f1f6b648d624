// Offload thesis, section 4.4: a leader gathers from its team, leaders exchange, and each leader
// tells its listeners. Each of the three phases of a leader ends with a signal. Another rank's
// first signal says that the leader has what the rank gives (the arrival flag).
//
// All blocks stand in the output's own places from the beginning. So the blocks of a team are a
// message for each run of ranks that follow each other: one message if the team is such a run.
#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/algorithms/allgather/allgather.h"
#include "collectives/algorithms/allgather/gathered_places.h"
#include "collectives/algorithms/hierarchy.h"
#include "collectives/algorithms/section.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

using Build = TaskList (*)(const Shape&, int);

struct Team {
  std::vector<int> members;  // in rank order; the first is leader
  int node = 0;
  int circle = 0;  // leaders exchange within their circle
  int leader() const { return members.front(); }
};

struct Teams {
  std::vector<Team> all;
  // If true, a leader tells all ranks of its node what its circle has; if false, only its own team.
  bool for_all = false;
};

// Cuts each node's ranks into `count` teams of ranks that follow each other on the node. A node
// with fewer ranks has as many teams as ranks.
Teams cut(const Hierarchy& hierarchy, std::uint32_t count) {
  Teams teams;
  for (int node = 0; node < hierarchy.nodes().nodes(); ++node) {
    const std::vector<int>& members = hierarchy.members(node);
    const std::size_t parts = std::min<std::size_t>(count, members.size());
    for (std::size_t part = 0; part < parts; ++part) {
      const auto at = [&](std::size_t i) {
        return members.begin() + static_cast<std::ptrdiff_t>(i * members.size() / parts);
      };
      teams.all.push_back({{at(part), at(part + 1)}, node, 0});
    }
  }
  return teams;
}

class Phases {
 public:
  Phases(const Shape& shape, Teams teams, int rank);
  TaskList list(Build exchange);

 private:
  // Returns the teams that exchange with `team`, itself included.
  std::vector<const Team*> circle(const Team& team) const;
  // Returns the teams with a leader that tells this rank what its circle has.
  std::vector<const Team*> speakers() const;
  // Returns the runs that a leader tells a listener: all that its circle has, except the listener's
  // own block.
  std::vector<Stretch> told(const Team& speaker, int listener) const;
  void exchange_by(Build exchange);
  void tell();
  void lead(Build exchange);
  void follow();

  Writer list_;
  GatheredPlaces places_;
  Shape shape_;
  Teams teams_;
  int rank_;
  const Team* own_ = nullptr;
};

Phases::Phases(const Shape& shape, Teams teams, int rank)
    : places_(shape, rank), shape_(shape), teams_(std::move(teams)), rank_(rank) {
  for (const Team& team : teams_.all) {
    if (std::ranges::binary_search(team.members, rank)) own_ = &team;
  }
}

std::vector<const Team*> Phases::circle(const Team& team) const {
  std::vector<const Team*> found;
  for (const Team& other : teams_.all) {
    if (other.circle == team.circle) found.push_back(&other);
  }
  return found;
}

std::vector<const Team*> Phases::speakers() const {
  std::vector<const Team*> found;
  for (const Team& team : teams_.all) {
    const bool tells = teams_.for_all ? team.node == own_->node : &team == own_;
    if (tells && team.leader() != rank_) found.push_back(&team);
  }
  return found;
}

std::vector<Stretch> Phases::told(const Team& speaker, int listener) const {
  std::vector<int> ranks;
  for (const Team* team : circle(speaker))
    ranks.insert(ranks.end(), team->members.begin(), team->members.end());
  std::ranges::sort(ranks);
  return runs_without(ranks, listener);
}

void Phases::exchange_by(Build exchange) {
  const std::vector<const Team*> teams = circle(*own_);
  std::vector<int> leaders;
  for (const Team* team : teams)
    leaders.push_back(team->leader());
  const auto number = static_cast<std::size_t>(std::ranges::find(leaders, rank_) - leaders.begin());
  // Bruck's list has its scratch turned, its own block first. Here nothing is turned: blocks that
  // pass through this rank stand in their final places.
  const Where where = [&](const Blocks& blocks) {
    std::vector<int> ranks;
    for (std::size_t block = blocks.first; block < blocks.first + blocks.count; ++block) {
      const std::size_t turned = blocks.space == Space::scratch ? number + block : block;
      const std::vector<int>& members = teams[turned % teams.size()]->members;
      ranks.insert(ranks.end(), members.begin(), members.end());
    }
    std::ranges::sort(ranks);
    std::vector<Blocks> pieces;
    for (const Stretch& run : runs_of(ranks))
      pieces.push_back(places_.of(run.first, run.count));
    return pieces;
  };
  Shape shape;
  shape.operation = Operation::allgather;
  shape.ranks = static_cast<int>(teams.size());
  shape.radix = shape_.radix;
  shape.in_place = true;
  append(list_, exchange(shape, static_cast<int>(number)), leaders, where);
}

void Phases::tell() {
  for (const Team& team : teams_.all) {
    if (teams_.for_all ? team.node != own_->node : &team != own_) continue;
    for (const int listener : team.members) {
      if (listener == rank_) continue;
      for (const Stretch& run : told(*own_, listener))
        list_.send(listener, places_.of(run.first, run.count));
    }
  }
}

void Phases::lead(Build exchange) {
  for (const int member : own_->members) {
    if (member != rank_) list_.receive(member, places_.of(member, 1));
  }
  places_.put_own(list_);
  for (const int member : own_->members) {
    if (member != rank_) list_.wait_received(member, 1);
  }
  list_.signal();
  exchange_by(exchange);
  list_.signal();
  tell();
}

void Phases::follow() {
  list_.send(own_->leader(), places_.given());
  places_.put_own(list_);
  list_.wait_sent(own_->leader());
  list_.signal();
}

TaskList Phases::list(Build exchange) {
  for (const Team* team : speakers()) {
    for (const Stretch& run : told(*team, rank_))
      list_.receive(team->leader(), places_.of(run.first, run.count));
  }
  rank_ == own_->leader() ? lead(exchange) : follow();
  for (const Team* team : speakers()) {
    const std::size_t count = told(*team, rank_).size();
    if (count > 0) list_.wait_received(team->leader(), static_cast<std::uint32_t>(count));
  }
  return places_.done(list_, 0);
}

TaskList by_nodes(const Shape& shape, int rank, Build exchange) {
  return Phases(shape, cut(Hierarchy(shape, Hierarchy::kNoRoot), 1), rank).list(exchange);
}

// `radix` is the number of teams of a node here, so leaders exchange with one port.
Shape single_port(const Shape& shape) {
  Shape found = shape;
  found.radix = 2;
  return found;
}

}  // namespace

TaskList allgather_hierarchical(const Shape& shape, int rank) {
  return by_nodes(shape, rank, allgather_standard_exchange);
}
TaskList allgather_hierarchical_bruck(const Shape& shape, int rank) {
  return by_nodes(shape, rank, allgather_bruck);
}
TaskList allgather_hierarchical_ring(const Shape& shape, int rank) {
  return by_nodes(shape, rank, allgather_ring);
}

TaskList allgather_multileader(const Shape& shape, int rank) {
  const Hierarchy hierarchy(shape, Hierarchy::kNoRoot);
  return Phases(single_port(shape), cut(hierarchy, shape.radix), rank)
      .list(allgather_standard_exchange);
}

TaskList allgather_multigroup(const Shape& shape, int rank) {
  const Hierarchy hierarchy(shape, Hierarchy::kNoRoot);
  // Each group needs a leader on each node.
  std::size_t groups = shape.radix;
  for (int node = 0; node < hierarchy.nodes().nodes(); ++node)
    groups = std::min(groups, hierarchy.members(node).size());
  Teams teams = cut(hierarchy, static_cast<std::uint32_t>(groups));
  for (std::size_t i = 0; i < teams.all.size(); ++i)
    teams.all[i].circle = static_cast<int>(i % groups);
  teams.for_all = true;
  return Phases(single_port(shape), std::move(teams), rank).list(allgather_standard_exchange);
}

}  // namespace scela::collectives
