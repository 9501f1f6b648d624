// All bulk starts (launcher/hosts/bulk/bulk_start.h) of a job: the first one is for the hosts with
// which the job begins. Each later one is for hosts that join it because ranks are spawned there.
// Their agents share one secret, so that each can be the parent of each.
//
// The functions may be called in any thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/hosts/bulk/bulk_start.h"
#include "launcher/plan/plan.h"

namespace scela {

// Says how the hosts of a start are reached.
struct BulkContacts {
  // How the hosts that have an agent are reached (nla/core/wire/contact.h), in the request's order.
  std::vector<std::string> contacts;
  // The other hosts.
  std::vector<MissingHost> missing;
};

class BulkStarts {
 public:
  // The hosts of `request` do not count.
  explicit BulkStarts(BulkRequest request) : request_(std::move(request)) {}

  // Starts the agents of these hosts, and blocks until they have dialed in or the descriptor `end`
  // is readable. Returns errors as BulkStart::start().
  Result<BulkContacts> start(const std::vector<std::string>& hosts, int end = -1);
  // Returns the secret with which parents connect to the agents. It is empty before a start.
  std::string secret() const;
  // Starts agents, and returns how each of the hosts is reached, or why it is not, in their order.
  // Blocks as start() does.
  std::vector<HostLookup> find_later(const std::vector<std::string>& hosts);
  // Returns the processes of the commands.
  std::vector<pid_t> pids() const;
  // Returns the last lines of the commands, each with the name of its command.
  std::vector<std::string> output() const;

 private:
  // Starts the agents of hosts that one command reaches.
  Result<const BulkStart*> start_part(const std::vector<std::string>& hosts, int end);

  mutable std::mutex mutex_;  // of the two below
  BulkRequest request_;
  std::vector<std::unique_ptr<BulkStart>> starts_;
};

}  // namespace scela
