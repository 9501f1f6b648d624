// Builds the first event that the root agent gets: the hosts, the shape of the tree and the
// settings of the agents. The session (launcher/session.cpp) uses it, in its one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/core/options/options.h"
#include "launcher/plan/plan.h"
#include "nla/core/tree/events.h"

namespace scela {

// Returns the event. `agent` is the path of scela-nla on this machine. `contacts` has one entry per
// host of the plan, in its order: a line that says how the host is reached
// (nla/core/wire/contact.h). `now_ns` is the monotonic clock in nanoseconds. The function reads
// this machine's boot id, and asks the kernel by which address the hosts reach this machine.
nla::event::Begin make_begin_event(const Options& options, const Plan& plan,
                                   const std::string& agent, std::vector<std::string> contacts,
                                   std::int64_t now_ns);

// Returns true if each host of the plan may start its rank as soon as its agent is ready, and need
// not wait for the other hosts (nla::event::Launch). That is so for a command that runs once on
// each host, if nothing about the job depends on all agents: a least number of them, a terminal, a
// debugger, a place where ranks meet or processors to show. Pairs must travel with fences, because
// requests wait for all hosts, and only few may wait. The tree must be flat, because in another the
// agent that a host depends on may fail during the start.
bool launches_early(const Options& options, const Plan& plan);

}  // namespace scela
