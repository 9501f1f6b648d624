#include "common/os/process/reaper.h"

#include <signal.h>
#include <sys/signalfd.h>

#include "common/os/syscall.h"

namespace scela {

Result<Reaper> Reaper::create() {
  sigset_t mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  Fd signals(::signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals) return fail(os_error(ErrorKind::internal, "watch for ended children", errno));
  return Reaper(std::move(signals));
}

void Reaper::clear() {
  signalfd_siginfo info[4];
  while (::read(signals_.get(), info, sizeof info) > 0) {
  }
}

}  // namespace scela
