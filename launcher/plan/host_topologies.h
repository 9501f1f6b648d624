// Uses what the job's hosts report about their processors. If all hosts are this machine, its own
// topology is used. The report says how many ranks a host without stated slots has room for, and to
// which processors each rank is bound.
//
// The command, the session and plan.cpp use it. All functions compute values from values, by the
// rules that the agents bind by.
#pragma once

#include <optional>
#include <vector>

#include "launcher/core/options/placement_options.h"
#include "launcher/core/report/job_report.h"
#include "launcher/plan/plan.h"
#include "nla/core/wire/topologies.h"

namespace scela {

// Returns true if the hosts must report their processors when they start. Their slots then follow
// from the processors, or the bindings are shown to the user.
bool needs_topologies(const Plan& plan, const Options& options);

// Stores the topologies that the hosts reported in Plan::machines, in place of earlier ones. `told`
// pairs the bytes of a topology with the nodes that reported it. If Plan::slots_from_processors is
// set, it also sets the slots of each host that has no stated slots. A malformed report counts as
// no report; such a host gets one slot.
void use_topologies(Plan& plan, const nla::TopologyList& told);

// Returns the host that has the most units for one rank, among the nodes with these numbers. A unit
// is a core, or a hardware thread if ranks are bound to those; all units must be in one object of
// the kind that ranks are mapped by. Returns std::nullopt if none of these nodes has reported its
// processors.
std::optional<LargestHost> largest_host(const Plan& plan, const std::vector<std::uint32_t>& nodes);

// Returns to which processors the ranks of each node will be bound, in node order. Nodes without
// ranks and the nodes in `failed` (node numbers) are left out. Returns an empty list if the job
// binds no rank.
std::vector<NodeBindings> bindings_of(const Plan& plan, const RankSet& failed = {});

}  // namespace scela
