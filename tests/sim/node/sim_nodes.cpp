#include "tests/sim/node/sim_nodes.h"

#include "common/core/text.h"

namespace scela::sim {

Nodes::Nodes(Run& run, Network& network) : run_(run), network_(network) {
  nodes_.emplace_back().agent = std::make_unique<nla::Agent>(nla::Role::root);
}

std::uint32_t Nodes::add(std::uint32_t host, std::uint32_t up) {
  Node& node = nodes_.emplace_back();
  node.host = host;
  node.up = up;
  node.agent = std::make_unique<nla::Agent>(nla::Role::agent);
  return size() - 1;
}

void Nodes::die(std::uint32_t node) {
  nodes_[node].state = NodeState::dead;
  if (node == 0) root_killed_ = true;
}

void Nodes::end_links(std::uint32_t node, LastMessages messages) {
  const bool silent = messages == LastMessages::lost;
  for (const std::uint32_t link : nodes_[node].children) {
    if (!network_.at(link).broken) network_.end_of(link, false, silent);
  }
  if (node == 0) return;
  const std::uint32_t up = nodes_[node].up;
  if (!network_.at(up).broken) network_.end_of(up, true, silent);
}

std::string Nodes::name(std::uint32_t node) const {
  if (node == 0) return "the root";
  return cat("agent ", node, " on host ", nodes_[node].host);
}

std::uint32_t Nodes::agent_on(std::uint32_t host) const {
  if (host == kRootHost) return 0;
  for (std::uint32_t i = size(); i-- > 1;) {
    if (nodes_[i].host == host && running(i)) return i;
  }
  return kNobody;
}

bool Nodes::severed(std::uint32_t node) const {
  while (node != kNobody && node != 0) {
    if (nodes_[node].disturbed) return true;
    const Link& link = network_.at(nodes_[node].up);
    if (link.severed) return true;
    node = link.parent;
  }
  return root_killed_;
}

bool Nodes::below(std::uint32_t node, std::uint32_t ancestor) const {
  while (node != kNobody && node != 0 && node != ancestor)
    node = network_.at(nodes_[node].up).parent;
  return node == ancestor;
}

std::vector<std::uint32_t> Nodes::orphans_above(std::uint32_t node) const {
  std::vector<std::uint32_t> found;
  while (node != kNobody && node != 0) {
    if (nodes_[node].orphaned) found.push_back(node);
    node = network_.at(nodes_[node].up).parent;
  }
  return found;
}

bool Nodes::host_had_fault(std::uint32_t host) const {
  for (const HostStart& start : run_.schedule.starts) {
    if (start.host == host && start.how != StartFault::slow && start.how != StartFault::keyless &&
        start.how != StartFault::waits) {
      return true;
    }
  }
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    if (nodes_[i].host == host && severed(i)) return true;
  }
  return false;
}

}  // namespace scela::sim
