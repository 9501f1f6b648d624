// The one place where a process learns that its children ended: a descriptor that becomes readable.
//
// A reaper blocks SIGCHLD for the calling thread; children of start_child() begin with an empty
// mask. A process has at most one: it reaps every child, so no other code may wait for a child.
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
  // Empties the descriptor. The caller calls it before reap().
  void clear();

  // Calls ended(pid, status) for every child that has ended, with the status of waitpid(2). Calls
  // stopped(pid) for every child that a signal has stopped since the last call. It does not block.
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
