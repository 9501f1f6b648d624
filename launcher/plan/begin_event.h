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

// `agent` is the path of scela-nla on this machine. `contacts` has one entry per host of the plan,
// in its order. `now_ns` is the monotonic clock in nanoseconds.
nla::event::Begin make_begin_event(const Options& options, const Plan& plan,
                                   const std::string& agent, std::vector<std::string> contacts,
                                   std::int64_t now_ns);

}  // namespace scela
