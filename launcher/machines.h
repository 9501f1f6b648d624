// What the hosts of a job have told of their processors (or this machine's, where they all are this
// one): how many ranks they have room for where no slots are stated, and which processors each rank
// will be bound to.
//
// Values in, values out, by the rules that the agents bind by.
#pragma once

#include <optional>
#include <vector>

#include "launcher/core/placement_options.h"
#include "launcher/core/report.h"
#include "launcher/plan.h"
#include "nla/core/topologies.h"

namespace scela {

// Whether they are to tell: their processors are their slots, or where ranks are bound is shown.
bool needs_topologies(const Plan& plan, const Options& options);

// Keeps what they have told, and with Plan::counts_room the slots of those for which none are
// stated. What is malformed counts as not told.
void use_topologies(Plan& plan, const nla::TopologyList& told);

// The host that has most cores, or hardware threads if ranks are bound to those, in one object of
// those that they are mapped by; nothing where none of these has told.
std::optional<LargestHost> largest_host(const Plan& plan, const std::vector<std::uint32_t>& nodes);

// Where the ranks of each node that has some will be bound, node after node, but for nodes that
// have no agent.
std::vector<NodeBindings> bindings_of(const Plan& plan, const RankSet& failed = {});

}  // namespace scela
