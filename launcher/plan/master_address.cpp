#include "launcher/plan/master_address.h"

#include <algorithm>

#include "common/core/text.h"
#include "nla/core/job/meeting_ports.h"
#include "nla/core/job/style_variables.h"
#include "nla/io/address.h"

namespace scela {

namespace {

// Returns the names of the nodes as Slurm lists them. Programs connect to the first one. Simulated
// nodes have names that mean nothing to them, so the first one is the address of rank 0's node,
// unless it is of IPv6, to which they would append ":PORT".
std::string node_list(const Plan& plan) {
  std::string list;
  const nla::RankNodes nodes(plan.job.map);
  for (const std::uint32_t node : nodes.nodes())
    list += cat(list.empty() ? "" : ",", plan.hosts[node]);
  const std::string& address = plan.job.training.master.address;
  if (plan.remote || address.find(':') != std::string::npos) return list;
  return cat(address, list.substr(std::min(list.find(','), list.size())));
}

}  // namespace

Result<void> use_rendezvous(Plan& plan, const nla::TopologyList& told) {
  nla::Training& training = plan.job.training;
  if (!training.styles.any()) return {};
  const std::uint32_t node = plan.job.map.node_of(0).value_or(0);
  const auto of_node =
      std::ranges::find_if(told, [&](const auto& one) { return one.second.contains(node); });
  const auto point = of_node == told.end() ? std::nullopt : nla::parse_rendezvous(of_node->first);
  if (!point || !nla::parse_address(point->address, point->port)) {
    return fail(Error{ErrorKind::launch, "find a port where ranks can meet (--env-style)",
                      plan.hosts[node],
                      of_node == told.end() ? std::string("its agent has reported none")
                                            : cat("its agent has reported '", of_node->first, "'"),
                      "see whether a TCP port is free there, and whether rank 0 is on one of the "
                      "first hosts"});
  }
  training.master = *point;
  if (training.styles.slurm) training.node_list = node_list(plan);
  return {};
}

}  // namespace scela
