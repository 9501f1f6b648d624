#include "tests/sim/node/agent_starts.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela::sim {

namespace event = nla::event;

void AgentStarts::on(std::uint32_t index, const nla::action::StartChild& action) {
  Node& node = nodes_[index];
  if (action.link != node.children.size() + 1) {
    return run_.fail(cat(nodes_.name(index), " reuses or skips link numbers: ", action.link));
  }
  if (action.node >= job_.hosts || action.host != cat("h", action.node)) {
    return run_.fail(
        cat(nodes_.name(index), " starts a host that is not in the list: ", action.host));
  }
  const std::uint32_t link = network_.open(index, action.link, action.node);
  node.children.push_back(link);
  if (!action.attach) return begin(link);
  network_.at(link).attach = true;
  const Pace& pace = run_.schedule.pace;
  const Micros delay =
      run_.random.between(pace.start_min, std::max(pace.start_min, pace.start_max));
  run_.after(delay, TaskKind::attach, link, 0,
             run_.now + delay + Micros{run_.schedule.adopt_ms} * 1000);
}

Micros AgentStarts::turn_of(std::uint32_t host) const {
  Micros turn = 0;
  for (const HostStart& start : run_.schedule.starts) {
    if (start.how == StartFault::waits && start.host == host) turn = std::max(turn, start.delay);
  }
  return turn;
}

void AgentStarts::begin(std::uint32_t link_index) {
  const Pace& pace = run_.schedule.pace;
  Link& link = network_.at(link_index);
  const Micros turn = turn_of(link.host);
  Micros delay =
      turn + run_.random.between(pace.start_min, std::max(pace.start_min, pace.start_max));
  run_.after(turn, TaskKind::child_begun, link_index);
  for (const HostStart& start : run_.schedule.starts) {
    if (start.how == StartFault::keyless && link.parent != 0 &&
        nodes_[link.parent].host == start.host) {
      link.state = Link::State::failed;
      run_.after(turn + start.delay, TaskKind::child_failed, link_index,
                 static_cast<std::uint32_t>(nla::StartPhase::authenticate), 1);
      return;
    }
    if (start.host != link.host) continue;
    if (start.how == StartFault::slow) delay += start.delay;
    if (start.how >= StartFault::slow) continue;
    const auto phase = start.how == StartFault::refused  ? nla::StartPhase::connect
                       : start.how == StartFault::denied ? nla::StartPhase::authenticate
                                                         : nla::StartPhase::start_agent;
    link.state = Link::State::failed;
    run_.after(turn + start.delay, TaskKind::child_failed, link_index,
               static_cast<std::uint32_t>(phase));
    return;
  }
  run_.after(delay, TaskKind::start_agent, link_index);
}

void AgentStarts::begun(std::uint32_t link_index) {
  Link& link = network_.at(link_index);
  link.begun = true;
  agents_.give(link.parent, event::ChildBegun{link.parent_link});
}

void AgentStarts::failed(std::uint32_t link_index, nla::StartPhase phase, bool handed_back) {
  const Link& link = network_.at(link_index);
  agents_.give(link.parent, event::ChildFailed{link.parent_link, phase, "planned", handed_back});
}

bool AgentStarts::stillborn(std::uint32_t host) const {
  const auto& starts = run_.schedule.starts;
  return std::any_of(starts.begin(), starts.end(), [&](const HostStart& start) {
    return start.host == host && start.how == StartFault::stillborn;
  });
}

void AgentStarts::start(std::uint32_t link_index) {
  Link& link = network_.at(link_index);
  // The agent was given up while it was being started, or the agent that started it died. Either
  // it is not started, or it starts and finds its link ended.
  if (link.broken && run_.random.chance(1, 2)) return network_.gone(link_index);
  const std::uint32_t position = nodes_.add(link.host, link_index);
  if (link.broken) {
    link.child = position;
    link.state = Link::State::running;
    link.end_due[1] = true;
    run_.after(0, TaskKind::end_seen, link_index, 1);
    return;
  }
  network_.connect(link_index, position);
  if (stillborn(link.host)) {
    nodes_[position].disturbed = true;
    const bool lost = run_.random.chance(1, 2);
    node_ends_.agent_dies(position, lost ? LastMessages::lost : LastMessages::arrive);
  }
}

}  // namespace scela::sim
