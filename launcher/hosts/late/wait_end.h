// The end of a wait before a job begins: a signal that asks for it (SIGINT, SIGTERM, SIGHUP), or
// the limit of --timeout. While hosts are awaited there is no event loop, so all that blocks
// there watches one more descriptor. launcher/hosts/late_hosts.h has it for the whole search.
//
// One thread uses an object. Threads that it starts meanwhile have these signals blocked;
// programs that it starts do not (common/os/process/child.h).
#pragma once

#include <signal.h>

#include <chrono>
#include <optional>

#include "common/os/fd.h"

namespace scela {

// Says why a wait was ended before its time.
struct WaitEndCause {
  std::optional<int> signal;  // its number; std::nullopt: the limit of --timeout was reached
};

class WaitEnd {
 public:
  using Clock = std::chrono::steady_clock;

  // Takes the signals from now on, but for those that nohup or a script's "&" made this process
  // ignore. `deadline` is the moment of --timeout, if there is one. If no descriptor is left, the
  // signals keep their usual effect and the deadline has none.
  explicit WaitEnd(std::optional<Clock::time_point> deadline);
  // Gives the signals their usual effect again. One that was not taken has it at once. SIGUSR1,
  // SIGUSR2 and SIGQUIT that came meanwhile have none: there is no job yet that they could reach.
  ~WaitEnd();
  WaitEnd(const WaitEnd&) = delete;
  WaitEnd& operator=(const WaitEnd&) = delete;

  // Returns a descriptor that is readable once the wait must end, or -1.
  int descriptor() const { return either_.get(); }
  // Blocks for `limit`, or until the wait must end.
  void pause(std::chrono::milliseconds limit) const;
  // Returns why the wait must end, or std::nullopt if it need not. The first cause stays. Does not
  // block.
  std::optional<WaitEndCause> cause();

 private:
  sigset_t before_{};
  Fd signals_, limit_;
  Fd either_;  // an epoll set of both
  std::optional<WaitEndCause> cause_;
};

}  // namespace scela
