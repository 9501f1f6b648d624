#include "tests/sim/node/node_ends.h"

namespace scela::sim {

namespace action = nla::action;

void NodeEnds::on(std::uint32_t index, const action::SignalRanks& action) {
  of_node_[index].signalled = true;
  processes_.signal_all(index, action.signo);
}

void NodeEnds::on(std::uint32_t index, const action::EndLeftovers& action) {
  OfNode& node = of_node_[index];
  if (node.empty == Empty::not_asked) node.empty = Empty::asked;
  node.signalled = true;
  if (action.force) processes_.signal_all(index, 9);
  leftovers_.end_by_agent(index, action.force ? Force::kill : Force::ask);
  check_empty(index);
}

void NodeEnds::agent_dies(std::uint32_t index, LastMessages messages) {
  const NodeState state = nodes_[index].state;
  if (state == NodeState::dead || state == NodeState::finished) return;
  nodes_.die(index);
  nodes_.end_links(index, messages);
  const Micros seen = run_.random.below(kGuardianNotice);
  run_.after(seen, TaskKind::reap, index, 0, 0);
  run_.after(seen + Micros{run_.schedule.grace_ms} * 1000, TaskKind::reap, index, 0, 1);
  check_gone(index);
}

void NodeEnds::power_off(std::uint32_t index) {
  agent_dies(index, LastMessages::lost);
  leftovers_.end_all(index);
  for (const Rank rank : processes_.of(index)) {
    if (processes_[rank].life != Life::over) processes_[rank].cancelled = true;
  }
  reap(index, Force::kill);
}

void NodeEnds::reap(std::uint32_t index, Force force) {
  processes_.signal_all(index, force == Force::kill ? 9 : 15);
  leftovers_.end_by_guardian(index, force);
  check_gone(index);
}

void NodeEnds::leftover_end(std::uint32_t index, std::uint32_t position) {
  if (!leftovers_.end(index, position)) return;
  output_.want_pump(index);
  check_empty(index);
  check_gone(index);
}

void NodeEnds::tell_empty(std::uint32_t index) {
  of_node_[index].empty = Empty::not_asked;
  agents_.give(index, nla::event::NodeEmpty{});
}

bool NodeEnds::any_left(std::uint32_t index) const {
  return processes_.any_alive(index) || leftovers_.remaining(index).has_value();
}

void NodeEnds::check_empty(std::uint32_t index) {
  OfNode& node = of_node_[index];
  if (node.empty != Empty::asked || any_left(index)) return;
  node.empty = Empty::scheduled;
  run_.after(run_.random.below(500), TaskKind::empty, index);
}

void NodeEnds::check_gone(std::uint32_t index) {
  const Node& node = nodes_[index];
  if (gone(index) || node.state == NodeState::running || node.state == NodeState::frozen) return;
  if (any_left(index)) return;
  // If children were started as processes of this node, its guardian waits for them too.
  if (run_.schedule.local_children) {
    for (const std::uint32_t link : node.children) {
      const std::uint32_t child = network_.at(link).child;
      if (child != kNobody && !gone(child)) return;
    }
  }
  of_node_[index].gone = true;
  if (index == 0) return;
  // The agent that has started it waits for that session, though another has adopted it since.
  tell_parent(node.up);
  for (const std::uint32_t link : node.past_ups)
    tell_parent(link);
}

void NodeEnds::tell_parent(std::uint32_t link) {
  network_.gone(link);
  const std::uint32_t parent = network_.at(link).parent;
  if (!nodes_.running(parent)) check_gone(parent);
}

}  // namespace scela::sim
