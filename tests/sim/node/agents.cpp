#include "tests/sim/node/agents.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela::sim {

void Agents::give(std::uint32_t index, const nla::Event& event) {
  if (index == kNobody || !run_.ok()) return;
  Node& node = nodes_[index];
  if (node.state != NodeState::running) return;
  nla::Actions actions;
  node.agent->handle(event, actions);
  if (hooks_.tamper) hooks_.tamper(index, event, actions);
  if (hooks_.observe) hooks_.observe(index, event, actions);
  run_.note(index, event.index(), actions.size());
  for (nla::Action& action : actions) {
    if (!run_.ok()) return;
    if (node.state != NodeState::running) {
      run_.fail(nodes_.name(index) + " wants something done after Finish");
      return;
    }
    const auto* send = std::get_if<nla::action::Send>(&action);
    run_.note(action.index(), send != nullptr ? send->message.index() : 0);
    act_(index, action);
  }
  check_held(index);
  if ((node.state == NodeState::finished) != node.agent->finished()) {
    run_.fail(nodes_.name(index) + ": finished() and Finish disagree");
  }
}

void Agents::check_held(std::uint32_t index) {
  if ((run_.count_check() + 1) % 16 != 0) return;
  const std::uint64_t held = nodes_[index].agent->held_bytes();
  run_.result.max_held = std::max(run_.result.max_held, held);
  if (held > kHeldBeside + 2 * (open_payload_ + kept_payload_)) {
    run_.fail(cat(nodes_.name(index), " holds ", held, " bytes, operations in flight carry ",
                  open_payload_));
  }
}

}  // namespace scela::sim
