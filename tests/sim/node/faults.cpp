#include "tests/sim/node/faults.h"

namespace scela::sim {

void Faults::hit(const Fault& fault) {
  const std::uint32_t index = nodes_.agent_on(fault.host);
  if (index == kNobody || !nodes_.running(index)) return;
  Node& node = nodes_[index];
  switch (fault.kind) {
    case FaultKind::crash:
      node.disturbed = true;
      return node_ends_.agent_dies(index, LastMessages::arrive);
    case FaultKind::crash_silent:
      node.disturbed = true;
      return node_ends_.agent_dies(index, LastMessages::lost);
    case FaultKind::freeze:
      if (index == 0) return;
      node.disturbed = true;
      node.state = NodeState::frozen;
      run_.after(run_.random.below(kGuardianNotice), TaskKind::kill_agent, index);
      return;
    case FaultKind::power_off:
      if (index == 0) return;
      node.disturbed = true;
      return node_ends_.power_off(index);
    case FaultKind::cut:
      if (index != 0) network_.cut(node.up);
      return;
    case FaultKind::guardian_lost:
      if (index == 0) return;
      node.disturbed = true;
      return agents_.give(index, nla::event::GuardianLost{});
  }
}

}  // namespace scela::sim
