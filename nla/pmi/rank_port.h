// The port of a node to which the job's ranks connect by themselves, and the benefit of the doubt
// that such ranks get: an abort in the name of a rank may come unverified, or after its effects.
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
  struct Users {
    std::function<pid_t(Rank)> process;  // of a rank; 0: it does not run
    // A rank has identified itself on this connection. `rest` is what followed its greeting.
    std::function<void(Rank, Fd, const std::string& rest)> check_in;
  };
  // Returns false if the ranks of such a job inherit their connections.
  static bool is_needed(PmiKind kind);
  // `host` and `job` are borrowed. `own` are the ranks of this node; warnings call it `node`. Error
  // (launch): no port is available.
  static Result<std::unique_ptr<RankPort>> open(const RanksHost& host, const Job& job, RankSet own,
                                                std::string node, Users users);

  std::uint16_t number() const { return listener_->port(); }
  // Adds ranks of this node that the job has by now.
  void add(const RankSet& more) { listener_->add(more, job_.map.size()); }
  // Reads what has come to the port until now.
  void settle() { listener_->settle(); }
  // The rank has failed, or seems about to. If an unverified abort in its name is known, aborts the
  // job and returns true.
  bool believe_claim(Rank rank);
  // Calls `verdict` after a second if the rank still runs then. If an abort in the name of the rank
  // is known, that is the cause, so that the job is aborted at once instead.
  void doubt(Rank rank, std::function<void()> verdict);

 private:
  RankPort(const RanksHost& host, const Job& job, Users users)
      : host_(host), job_(job), users_(std::move(users)) {}
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
