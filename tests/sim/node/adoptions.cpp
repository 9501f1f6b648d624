#include "tests/sim/node/adoptions.h"

#include <utility>

namespace scela::sim {

void Adoptions::on(std::uint32_t index, const nla::action::AwaitAdoption& action) {
  Node& node = nodes_[index];
  if (index == 0) return run_.fail("the root waits for somebody to adopt it");
  if (!action.still) {
    if (std::exchange(node.adoption, Adoption::none) != Adoption::attached) return;
    network_.at(node.up).severed = true;
    if (!network_.at(node.up).broken) network_.end_of(node.up, true, false);
    return;
  }
  if (!network_.at(node.up).end_told[1])
    return run_.fail(nodes_.name(index) + " has a parent and wants another");
  node.adoption = Adoption::awaiting;
  node.orphaned = true;
  cut_off(index);
}

void Adoptions::cut_off(std::uint32_t index) {
  for (Rank rank = 0; rank < processes_.size(); ++rank) {
    const std::uint32_t node = processes_[rank].node;
    if (node == kNobody || !nodes_.below(node, index)) continue;
    for (const auto& [id, op] : programs_.due(rank))
      excuses_.cut(op);
  }
}

void Adoptions::attach(std::uint32_t link_index, Micros until) {
  constexpr Micros kAgain = 20'000;
  Link& link = network_.at(link_index);
  if (link.broken) return network_.gone(link_index);
  const auto failed = [&] {
    link.state = Link::State::failed;
    run_.after(0, TaskKind::child_failed, link_index,
               static_cast<std::uint32_t>(nla::StartPhase::connect));
  };
  const std::uint32_t fails = run_.schedule.attach_fails;
  if (fails > 0 && run_.random.chance(1, fails)) return failed();
  const std::uint32_t found = nodes_.agent_on(link.host);
  if (found == kNobody) return failed();
  Node& node = nodes_[found];
  if (node.adoption != Adoption::awaiting) {
    if (run_.now >= until) return failed();
    run_.after(kAgain, TaskKind::attach, link_index, 0, until);
    return;
  }
  node.adoption = Adoption::attached;
  node.past_ups.push_back(node.up);
  node.up = link_index;
  network_.connect(link_index, found);
}

}  // namespace scela::sim
