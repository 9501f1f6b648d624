// Waits until the hosts of a job are there: until their names are known and an sshd answers.
// launcher/hosts/host_contacts.cpp uses it before the plan is final.
//
// All hosts are waited for here, before any agent is started, and not where agents are started:
// only scela-run looks up names, agents deeper in the tree get addresses. So there is one clock,
// one line of progress, and one place where --min-nodes and --spares count those that are missing.
// Time does not cure settings, host keys and refused logins, so they are not waited for. Hosts
// behind a proxy are asked through it. If another command starts the agents, hosts are not waited
// for, since its failure does not say whether a host is there.
//
// A host that has not answered when the time is over is still tried by the ordinary start,
// because it may be reachable from other hosts only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options/host_wait.h"
#include "launcher/hosts/late/wait_end.h"
#include "launcher/hosts/ssh_hosts.h"

namespace scela {

// A wait for hosts that a signal or --timeout has ended.
struct GivenUpWait {
  WaitEndCause cause;
  std::string waiting;  // "waiting for 1 of 2 hosts: w1 (name not known)"
};

// The time that is left for hosts that come up late, over all calls that look for the hosts of one
// start. One thread.
class HostPatience {
 public:
  using Clock = std::chrono::steady_clock;
  // `tell` gets lines of progress for the user, without newline; it may be empty.
  using Tell = std::function<void(const std::string& line)>;
  HostPatience() : HostPatience(std::chrono::milliseconds(0), std::nullopt, {}) {}
  // Hosts are waited for until `limit` is over. The moment of --timeout, `deadline`, ends the whole
  // search.
  HostPatience(std::chrono::milliseconds limit, std::optional<Clock::time_point> deadline,
               Tell tell)
      : wait_(limit), deadline_(deadline), tell_(std::move(tell)), began_(Clock::now()) {}

  // From now on a signal or the deadline gives the search up. stop_watching() gives signals their
  // usual effect again. The functions that block are called in between (WatchedPatience).
  void watch() { end_ = std::make_unique<WaitEnd>(deadline_); }
  void stop_watching();
  // Says what the search waits for from now on: "waiting for 4 hosts".
  void wait_for(std::string waiting) { waiting_ = std::move(waiting); }
  // Returns a descriptor that is readable if the search is to be given up, or -1. Code that blocks
  // in the search watches it.
  int end_descriptor() const { return end_ ? end_->descriptor() : -1; }
  // Returns true if the search was given up. Does not block.
  bool is_given_up();
  // Returns how the search was given up, or std::nullopt.
  const std::optional<GivenUpWait>& given_up() const { return given_up_; }
  // Returns the error of a search that was given up.
  static Error error();

  // Tells of progress if that is due, and blocks until the next attempt. Returns false if the time
  // is over or the search is given up. `awaited` has the hosts that are not there, out of `all`.
  bool pause(const std::vector<AwaitedHost>& awaited, std::size_t all);
  // Does what pause() does; `waiting` says what is waited for.
  bool pause(const std::string& waiting);
  // Tells how the wait ended, if a line has told of the wait. Later calls tell nothing.
  void conclude(const std::vector<AwaitedHost>& awaited, std::size_t all);
  // Returns true and tells of progress if that is due, unless the time is over or the search is
  // given up. Does not block.
  bool goes_on(const std::string& waiting);
  // Returns true if hosts are waited for at all.
  bool is_set() const { return wait_.limit().count() > 0; }
  // Returns the time until the wait is over; never negative.
  std::chrono::milliseconds left() const;

 private:
  std::chrono::milliseconds elapsed() const;

  HostWait wait_;
  std::optional<Clock::time_point> deadline_;
  Tell tell_;
  Clock::time_point began_;
  bool has_concluded_ = false;
  std::unique_ptr<WaitEnd> end_;
  std::string waiting_;
  std::optional<GivenUpWait> given_up_;
};

// Has signals and --timeout give the search up, for as long as it lives.
class WatchedPatience {
 public:
  explicit WatchedPatience(HostPatience& patience) : patience_(patience) { patience_.watch(); }
  ~WatchedPatience() { patience_.stop_watching(); }
  WatchedPatience(const WatchedPatience&) = delete;
  WatchedPatience& operator=(const WatchedPatience&) = delete;

 private:
  HostPatience& patience_;
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

// Does what find_ssh_hosts() does, and waits for hosts that are not there. Returns
// HostPatience::error() if the search is given up.
Result<SshHosts> find_late_hosts(const std::vector<std::string>& names,
                                 const SshHostsOptions& options, const SshUser& user,
                                 const LateHostLimits& limits, HostPatience& patience);

}  // namespace scela
