// What the root agent is told first: the hosts and the tree, and how agents are to work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/core/options.h"
#include "launcher/plan.h"
#include "nla/core/events.h"

namespace scela {

// `agent`: path of scela-nla here. `contacts`: of the plan's hosts.
nla::event::Begin beginning(const Options& options, const Plan& plan, const std::string& agent,
                            std::vector<std::string> contacts, std::int64_t now_ns);

}  // namespace scela
