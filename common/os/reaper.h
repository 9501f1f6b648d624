// One place where a process learns that its children ended: a descriptor that becomes readable.
//
// Blocks SIGCHLD for the calling thread (children started with start_child() begin with an empty
// mask). At most one per process: it reaps every child, so nothing else may wait for one.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

class Reaper {
 public:
  static Result<Reaper> create();

  int descriptor() const { return signals_.get(); }
  // Empties the descriptor; call before reaping.
  void clear();

  // Calls ended(pid, status) for every child that has ended, status as in waitpid(2), and
  // stopped(pid) for every one that a signal has stopped since the last call.
  template <class Ended, class Stopped>
  void reap(Ended&& ended, Stopped&& stopped) {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
      if (WIFSTOPPED(status)) {
        stopped(pid);
      } else {
        ended(pid, status);
      }
    }
  }

 private:
  explicit Reaper(Fd signals) : signals_(std::move(signals)) {}
  Fd signals_;
};

}  // namespace scela
