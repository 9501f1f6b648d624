// Tells a process that its children ended: a descriptor that becomes readable. Agents use it in
// their event loop.
//
// A reaper blocks SIGCHLD for the calling thread; children of start_child() begin with an empty
// mask. A process has at most one: it reaps every child, so no other code may wait for a child. One
// thread uses it.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <utility>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

// The descriptor that announces ended children.
class Reaper {
 public:
  // Blocks SIGCHLD and makes the descriptor. Error (internal): no descriptor is left.
  static Result<Reaper> create();

  // Returns the descriptor, which is readable if a child has ended or was stopped. The reaper owns
  // it.
  int descriptor() const { return signals_.get(); }
  // Empties the descriptor, so that it is no more readable. The caller calls it before reap().
  void clear();

  // Reaps all children that have ended, without blocking. For each of them it
  // calls ended(pid, status, usage), with the status and the rusage of wait4(2). It calls
  // stopped(pid) for every child that a signal has stopped since the last call.
  template <class Ended, class Stopped>
  void reap(Ended&& ended, Stopped&& stopped) {
    int status = 0;
    rusage usage{};
    for (pid_t pid; (pid = ::wait4(-1, &status, WNOHANG | WUNTRACED, &usage)) > 0;) {
      if (WIFSTOPPED(status)) {
        stopped(pid);
      } else {
        ended(pid, status, std::as_const(usage));
      }
    }
  }

 private:
  explicit Reaper(Fd signals) : signals_(std::move(signals)) {}
  Fd signals_;
};

}  // namespace scela
