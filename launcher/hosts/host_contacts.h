// Finds out how the job's hosts are reached: over ssh, by another program, or on this machine. For
// each host there is a contact, a line of text that tells the agent of its parent how to start its
// agent (nla/core/wire/contact.h). The agents get contacts in the host list; scela-run keeps keys
// and proxies to itself.
//
// launcher/command.cpp calls it, in the main thread, and the session uses the result.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options/options.h"
#include "launcher/hosts/late_hosts.h"
#include "launcher/hosts/node_losses.h"
#include "launcher/plan/plan.h"
#include "nla/spawn/factory.h"

namespace scela {

class BulkStarts;

// Says how the hosts of a plan are reached.
struct HostContacts {
  std::vector<std::string> contacts;  // one per host of the plan, in its order
  // The hosts that can never be reached, if the plan can do without some hosts. The contacts then
  // lack these hosts. The caller must call keep_numbers(), or make a plan without them and call
  // find_contacts() again.
  std::vector<MissingHost> missing;
  // The hooks by which the root agent gets the ssh keys and proxy of a host, and has new host keys
  // recorded. They are empty if no host is reached by scela-run's own ssh.
  nla::SpawnContext spawn;
  // Finds out the same for hosts of Plan::later (hosts that join the tree during the job). Returns
  // one answer per name, in the order of `hosts`. It blocks. It may run in a thread of its own, at
  // the same time as the hooks of `spawn`.
  std::function<std::vector<HostLookup>(const std::vector<std::string>& hosts)> find_later;
  // The agents that run already, if one command has started all of them, and those that are started
  // for later hosts.
  std::shared_ptr<BulkStarts> bulk;
  // The agents that have joined by themselves (--listen).
  std::shared_ptr<JoinedAgents> joined;
  // Hears of lost hosts from the PMIx server that has told them; else there is none.
  std::optional<LossTool> loss_tool;
  std::vector<std::string> notes;  // lines to show with --verbose
  // Returns lines for the user, for the end of the job: new host keys that could not be recorded,
  // or the output of the command that has started all agents. It may be called in any thread, and
  // may be empty.
  std::function<std::vector<std::string>()> warnings_at_end;
};

// Finds out how the hosts of the plan are reached. Blocks as find_ssh_hosts() does: for files
// and for the name service, and for hosts that come up late, if the patience of `search` has
// time left and they are reached over ssh (launcher/hosts/late_hosts.h). With LaunchMethod::bulk
// it starts the agents, and blocks until they have dialed in (launcher/hosts/bulk/bulk_start.h);
// `environment` is that of scela-run, as "NAME=VALUE". Returns an error if a host that the plan
// needs can never be reached. The error says what to do about it and names the other unreachable
// hosts.
Result<HostContacts> find_contacts(const Options& options, const Plan& plan,
                                   const std::vector<std::string>& environment, HostSearch& search);

// Gives the missing hosts of the plan contacts by which they fail when their agents are started. So
// the other hosts keep their numbers.
void keep_numbers(const Plan& plan, HostContacts& reach);

}  // namespace scela
