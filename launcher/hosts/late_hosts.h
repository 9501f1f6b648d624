// Waits until the hosts of a job are there: until their names are known and an sshd answers.
// launcher/hosts/host_contacts.cpp uses it before the plan is final.
//
// All hosts are waited for here, before any agent is started, and not where agents are started:
// only scela-run looks up names, agents deeper in the tree get addresses. So there is one clock,
// one line of progress, and one place where --min-nodes and --spares count those that are missing.
// Time does not cure settings, host keys and refused logins, so they are not waited for. Hosts
// behind a proxy, which only ssh itself can reach, are tried once, as without a wait.
//
// A host that has not answered when the time is over is still tried by the ordinary start,
// because it may be reachable from other hosts only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options/host_wait.h"
#include "launcher/hosts/ssh_hosts.h"

namespace scela {

// The time that is left for hosts that come up late, over all calls that look for the hosts of one
// start. One thread.
class HostPatience {
 public:
  // `tell` gets lines of progress for the user, without newline; it may be empty.
  using Tell = std::function<void(const std::string& line)>;
  HostPatience() : HostPatience(std::chrono::milliseconds(0), {}) {}
  HostPatience(std::chrono::milliseconds limit, Tell tell)
      : wait_(limit), tell_(std::move(tell)), began_(std::chrono::steady_clock::now()) {}

  // Tells of progress if that is due, and blocks until the next attempt. Returns false if the time
  // is over. `awaited` has the hosts that are not there, out of `all`.
  bool pause(const std::vector<AwaitedHost>& awaited, std::size_t all);
  // Does what pause() does, with this line of progress.
  bool pause(const std::string& line);
  // Tells how the wait ended, if a line has told of the wait. Later calls tell nothing.
  void conclude(const std::vector<AwaitedHost>& awaited, std::size_t all);
  // Returns true and tells of progress if that is due, unless the time is over. Does not block.
  bool goes_on(const std::string& line);
  // Returns true if hosts are waited for at all.
  bool is_set() const { return wait_.limit().count() > 0; }
  // Returns the time until the wait is over; never negative.
  std::chrono::milliseconds left() const;

 private:
  std::chrono::milliseconds elapsed() const;

  HostWait wait_;
  Tell tell_;
  std::chrono::steady_clock::time_point began_;
  bool has_concluded_ = false;
};

class JoinedAgents;

// The state of the search for the hosts of one start, between its steps.
struct HostSearch {
  HostPatience patience;
  std::shared_ptr<JoinedAgents> joined;  // with --listen
};

// The limits of the attempts to reach an sshd.
struct LateHostLimits {
  std::chrono::milliseconds connect{10000};  // --connect-timeout
  std::size_t at_once = 128;                 // --fanout
};

// Does what find_ssh_hosts() does, and waits for hosts that are not there.
Result<SshHosts> find_late_hosts(const std::vector<std::string>& names,
                                 const SshHostsOptions& options, const SshUser& user,
                                 const LateHostLimits& limits, HostPatience& patience);

}  // namespace scela
