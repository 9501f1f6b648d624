#include "launcher/hosts/late/wait_end.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

#include "common/os/syscall.h"

namespace scela {

namespace {

// Returns the signals that end the wait, as those that end a job (launcher/job_control.h).
sigset_t ending_signals() {
  sigset_t out;
  ::sigemptyset(&out);
  ::sigaddset(&out, SIGTERM);
  for (const int signo : {SIGINT, SIGHUP}) {
    struct sigaction before {};
    if (::sigaction(signo, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      ::sigaddset(&out, signo);
  }
  return out;
}

// Returns the signals that do something to a running job, and do not end it
// (launcher/job_control.h).
sigset_t job_signals() {
  sigset_t out;
  ::sigemptyset(&out);
  for (const int signo : {SIGUSR1, SIGUSR2, SIGQUIT})
    ::sigaddset(&out, signo);
  return out;
}

// Returns a descriptor that is readable from this moment of the monotonic clock on.
Fd timer_of(WaitEnd::Clock::time_point deadline) {
  using std::chrono::nanoseconds;
  Fd out(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  // Zero would disarm it.
  const auto at = std::max(nanoseconds(deadline.time_since_epoch()), nanoseconds(1)).count();
  itimerspec wanted{};
  wanted.it_value.tv_sec = at / 1'000'000'000;
  wanted.it_value.tv_nsec = at % 1'000'000'000;
  if (out) ::timerfd_settime(out.get(), TFD_TIMER_ABSTIME, &wanted, nullptr);
  return out;
}

void watch_also(const Fd& set, const Fd& member) {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  if (member) static_cast<void>(::epoll_ctl(set.get(), EPOLL_CTL_ADD, member.get(), &wanted));
}

}  // namespace

WaitEnd::WaitEnd(std::optional<Clock::time_point> deadline)
    : either_(::epoll_create1(EPOLL_CLOEXEC)) {
  const sigset_t wanted = ending_signals();
  signals_ = Fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  ::sigprocmask(SIG_BLOCK, nullptr, &before_);
  if (!signals_ || !either_) return;
  ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
  const sigset_t others = job_signals();
  ::sigprocmask(SIG_BLOCK, &others, nullptr);
  if (deadline) limit_ = timer_of(*deadline);
  watch_also(either_, signals_);
  watch_also(either_, limit_);
}

WaitEnd::~WaitEnd() {
  const sigset_t others = job_signals();
  const timespec at_once{};
  while (signals_ && ::sigtimedwait(&others, nullptr, &at_once) > 0) {
  }
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void WaitEnd::pause(std::chrono::milliseconds limit) const {
  pollfd ready{either_.get(), POLLIN, 0};
  retry([&] { return ::poll(&ready, 1, static_cast<int>(limit.count())); });
}

std::optional<WaitEndCause> WaitEnd::cause() {
  if (cause_) return cause_;
  signalfd_siginfo info{};
  if (signals_ && ::read(signals_.get(), &info, sizeof info) == sizeof info) {
    cause_ = WaitEndCause{static_cast<int>(info.ssi_signo)};
    return cause_;
  }
  std::uint64_t times = 0;
  if (limit_ && ::read(limit_.get(), &times, sizeof times) == sizeof times) cause_ = WaitEndCause{};
  return cause_;
}

}  // namespace scela
