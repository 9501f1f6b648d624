// Finds out how the job's hosts are reached. The agents get contacts in the host list; scela-run
// keeps keys and proxies to itself. launcher/command.cpp calls it and the session uses the result.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options/options.h"
#include "launcher/plan/plan.h"
#include "nla/spawn/factory.h"

namespace scela {

struct HostAccess {
  std::vector<std::string> contacts;  // one per host of the plan, in its order
  // The hosts that can never be reached, if the plan can do without some hosts. The contacts are
  // then incomplete, and the caller must make a plan without these hosts.
  std::vector<MissingHost> missing;
  nla::SpawnContext spawn;
  // Finds out the same for hosts of Plan::later, in the order of `hosts`. It blocks. It may run in
  // a thread of its own, at the same time as the hooks of `spawn`.
  std::function<std::vector<FoundHost>(const std::vector<std::string>& hosts)> find_later;
  std::vector<std::string> notes;  // for --verbose
};

// Blocks as find_ssh_hosts does. Returns an error if a host that the plan needs can never be
// reached. The error says what to do about it and names the other unreachable hosts.
Result<HostAccess> find_reach(const Options& options, const Plan& plan);

}  // namespace scela
