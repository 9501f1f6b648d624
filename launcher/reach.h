// How the job's hosts are reached: what the agents are told (contacts, in the host list) and what
// scela-run keeps to itself (keys, proxies).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options.h"
#include "launcher/plan.h"
#include "nla/spawn/factory.h"

namespace scela {

struct Reach {
  std::vector<std::string> contacts;  // one per host of the plan, in its order
  // Hosts that cannot be reached whatever happens, where the plan can do without some. Then the
  // contacts are incomplete: make a plan without these hosts.
  std::vector<MissingHost> missing;
  nla::SpawnContext spawn;
  // The same for some of Plan::later, in their order. Blocks; may run in a thread of its own beside
  // the hooks of `spawn`.
  std::function<std::vector<FoundHost>(const std::vector<std::string>& hosts)> find_later;
  std::vector<std::string> notes;  // for --verbose
};

// Blocks as find_ssh_hosts does. Error: a host that the plan needs cannot be reached whatever
// happens, with what to do about it; the others that cannot be are counted.
Result<Reach> find_reach(const Options& options, const Plan& plan);

}  // namespace scela
