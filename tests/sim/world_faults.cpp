// Carries out the faults and the work of guardians, and finds out when a node is empty or gone.
#include <algorithm>

#include "common/core/text.h"
#include "tests/sim/world.h"

namespace scela::sim {

namespace event = nla::event;

namespace {

// A guardian sees its agent stop or die at once (its parent's death signal, waitid with WSTOPPED).
constexpr Micros kGuardianNotice = 3000;

}  // namespace

// The agent that serves a host now; an orphan that has not noticed yet does not count.
std::uint32_t World::agent_on(std::uint32_t host) const {
  if (host == kRootHost) return 0;
  for (std::size_t i = nodes_.size(); i-- > 1;) {
    if (nodes_[i].host == host && nodes_[i].state == State::running) {
      return static_cast<std::uint32_t>(i);
    }
  }
  return kNobody;
}

void World::fault(const Fault& fault) {
  const std::uint32_t index = agent_on(fault.host);
  if (index == kNobody || nodes_[index].state != State::running) return;
  Node& node = nodes_[index];
  switch (fault.kind) {
    case FaultKind::crash:
    case FaultKind::crash_silent:
      node.disturbed = true;
      return agent_dies(index, fault.kind == FaultKind::crash_silent);
    case FaultKind::freeze:
      if (index == 0) return;
      node.disturbed = true;
      node.state = State::frozen;
      tasks_.add(now_ + random_.below(kGuardianNotice), TaskKind::kill_agent, index);
      return;
    case FaultKind::power_off:
      if (index == 0) return;
      node.disturbed = true;
      return power_off(index);
    case FaultKind::cut:
      if (index != 0) network_.cut(node.up);
      return;
    case FaultKind::guardian_lost:
      if (index == 0) return;
      node.disturbed = true;
      return give(index, event::GuardianLost{});
  }
}

void World::user(const Stimulus& stimulus) {
  if (root().state != State::running) return;
  if (!stimulus.stop) {
    user_signals_.insert(stimulus.signo);
    return give(0, event::UserSignal{stimulus.signo});
  }
  stopped_ = true;
  if (must_end_since_ == 0) must_end_since_ = std::max<Micros>(now_, 1);
  give(0, event::Stop{stimulus.cause, stimulus.signo, stimulus.grace_ms});
}

void World::window() {
  if (root().state != State::running) return;
  WindowSize size;
  size.columns = ++windows_given_;
  schedule_.terminal_ranks.for_each([&](Rank rank) {
    if (ranks_[rank].life == Life::running) window_due_ = windows_given_;
  });
  give(0, event::WindowChanged{size});
}

void World::agent_dies(std::uint32_t index, bool silent) {
  Node& node = nodes_[index];
  if (node.state == State::dead || node.state == State::finished) return;
  node.state = State::dead;
  if (index == 0) root_killed_ = true;
  for (const std::uint32_t link : node.children) {
    if (!network_.at(link).broken) network_.end_of(link, false, silent);
  }
  if (index != 0 && !network_.at(node.up).broken) network_.end_of(node.up, true, silent);
  const Micros seen = now_ + random_.below(kGuardianNotice);
  tasks_.add(seen, TaskKind::reap, index, 0, 0);
  tasks_.add(seen + Micros{schedule_.grace_ms} * 1000, TaskKind::reap, index, 0, 1);
  check_gone(index);
}

void World::power_off(std::uint32_t index) {
  Node& node = nodes_[index];
  agent_dies(index, true);
  for (LeftoverModel& leftover : node.leftovers)
    leftover.alive = false;
  for (const Rank rank : node.ranks) {
    if (ranks_[rank].life != Life::over) ranks_[rank].cancelled = true;
  }
  reap(index, true);
}

// The guardian of a dead agent ends what is left on the node.
void World::reap(std::uint32_t index, bool force) {
  Node& node = nodes_[index];
  for (const Rank rank : node.ranks)
    signal(rank, force ? 9 : 15);
  for (std::uint32_t i = 0; i < node.leftovers.size(); ++i) {
    const LeftoverModel& leftover = node.leftovers[i];
    if (leftover.what.kind == LeftoverKind::obeys || force) {
      tasks_.add(now_ + random_.below(3000), TaskKind::leftover_end, index, i);
    }
  }
  check_gone(index);
}

void World::leftover_end(std::uint32_t index, std::uint32_t position) {
  LeftoverModel& leftover = nodes_[index].leftovers[position];
  if (leftover.what.kind == LeftoverKind::outside) return;
  leftover.alive = false;
  want_pump(index);
  check_empty(index);
  check_gone(index);
}

void World::check_empty(std::uint32_t index) {
  Node& node = nodes_[index];
  if (!node.empty_asked || node.empty_scheduled) return;
  for (const Rank rank : node.ranks) {
    if (ranks_[rank].alive()) return;
  }
  for (const LeftoverModel& leftover : node.leftovers) {
    if (leftover.alive && leftover.what.kind != LeftoverKind::outside) return;
  }
  node.empty_scheduled = true;
  tasks_.add(now_ + random_.below(500), TaskKind::empty, index);
}

// Reports to the parent that no process is left on the node of an agent that has ended. If children
// were started as processes of this node, its guardian waits for them too.
void World::check_gone(std::uint32_t index) {
  Node& node = nodes_[index];
  if (node.gone || node.state == State::running || node.state == State::frozen) return;
  for (const Rank rank : node.ranks) {
    if (ranks_[rank].alive()) return;
  }
  for (const LeftoverModel& leftover : node.leftovers) {
    if (leftover.alive && leftover.what.kind != LeftoverKind::outside) return;
  }
  if (schedule_.local_children) {
    for (const std::uint32_t link : node.children) {
      const std::uint32_t child = network_.at(link).child;
      if (child != kNobody && !nodes_[child].gone) return;
    }
  }
  node.gone = true;
  if (index == 0) return;
  // The agent that has started it waits for that session, though another has adopted it since.
  const auto tell = [&](std::uint32_t link) {
    network_.gone(link);
    const std::uint32_t parent = network_.at(link).parent;
    if (nodes_[parent].state != State::running) check_gone(parent);
  };
  tell(node.up);
  for (const std::uint32_t link : node.past_ups)
    tell(link);
}

// The job has had all the time there is: either it has a reason to be stuck, or a bug.
void World::timeout() {
  if (root().state != State::running) return;
  check_stalled();
  if (!result_.ok()) return;
  if (schedule_.peaceful()) return fail("hang: an undisturbed job waits for itself");
  result_.timed_out = true;
  user({true, nla::StopCause::timeout, 15, schedule_.grace_ms, 0, false});
}

}  // namespace scela::sim
