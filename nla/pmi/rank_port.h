// The port of a node to which the job's ranks connect by themselves. It also delays errors of such
// ranks for a second: an abort in the name of a rank, which explains them, may arrive after its
// effects, and its sender may be unverified (a claim, see rank_listener.h).
//
// RankPmi owns this part and lends it to its connections. It runs on the shell's loop. The
// listener's rules are in rank_listener.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "common/core/result.h"
#include "common/os/alarm.h"
#include "common/os/fd.h"
#include "nla/core/wire/job.h"
#include "nla/io/ranks_host.h"
#include "nla/pmi/rank_listener.h"

namespace scela::nla {

class RankPort {
 public:
  // The functions that the owner lends.
  struct Users {
    std::function<pid_t(Rank)> process;  // of a rank; 0: it does not run
    // Called when a rank has identified itself. The callee owns the connection. `rest` are the
    // bytes that followed the rank's greeting.
    std::function<void(Rank, Fd, const std::string& rest)> check_in;
  };
  // Returns true if the ranks of a job with this protocol connect to a port, and false if they
  // inherit their connections or have none.
  static bool is_needed(PmiKind kind);
  // Opens the port and begins to accept. `host` and `job` are borrowed. `own` are the ranks of this
  // node; warnings call it `node`. Error (launch): no port is available.
  static Result<std::unique_ptr<RankPort>> open(const RanksHost& host, const Job& job, RankSet own,
                                                std::string node, Users users);

  // Returns the number of the port, on 127.0.0.1.
  std::uint16_t number() const { return listener_->port(); }
  // Adds ranks of this node, which job.map must have already.
  void add(const RankSet& more) { listener_->add(more, job_.map.size()); }
  // Accepts and reads the connections that are there now, without blocking.
  void settle() { listener_->settle(); }
  // Aborts the job and returns true if there is an unverified abort in the name of this rank.
  // Otherwise returns false. Called if the rank has failed, or seems about to.
  bool believe_claim(Rank rank);
  // Calls `verdict` after a second if the rank still runs then. If there is an unverified abort in
  // the name of the rank, aborts the job at once and never calls it; if one arrives meanwhile, the
  // job is aborted then.
  void doubt(Rank rank, std::function<void()> verdict);

 private:
  RankPort(const RanksHost& host, const Job& job, Users users)
      : host_(host), job_(job), users_(std::move(users)) {}
  // Opens listener_. Error (launch): no port is available.
  Result<void> listen(RankSet own, std::string node);
  // Makes the core end the job.
  void abort(Rank rank, std::int32_t code, std::string message);

  const RanksHost& host_;
  const Job& job_;
  Users users_;
  std::unique_ptr<RankListener> listener_;
  std::list<Alarm> timers_;  // of doubt()
  RankSet doubted_;          // ranks with a verdict that is delayed
};

}  // namespace scela::nla
