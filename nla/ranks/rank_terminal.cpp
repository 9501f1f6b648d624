#include "nla/ranks/rank_terminal.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/os/alarm.h"
#include "common/os/syscall.h"
#include "common/os/terminal.h"

namespace scela::nla {

namespace {

using std::chrono::milliseconds;

// Pauses between two keys that end the input: short at first, when shells start, and longer later.
constexpr milliseconds kFirstAgain{100};
constexpr milliseconds kLastAgain{5000};

}  // namespace

struct RankTerminal::Timers {
  explicit Timers(boost::asio::io_context& io) : end(io), hang_up(io) {}
  Alarm end;
  Alarm hang_up;
};

RankTerminal::RankTerminal(boost::asio::io_context& io, Fd ours, Fd theirs, pid_t leader)
    : ours_(std::move(ours)),
      theirs_(std::move(theirs)),
      leader_(leader),
      timers_(std::make_unique<Timers>(io)) {}

RankTerminal::~RankTerminal() = default;

void RankTerminal::resize(const WindowSize& size) {
  set_window_size(theirs_.get(), size);
}

void RankTerminal::signal(int signo) {
  ::kill(-leader_, signo);
  const pid_t foreground = ::tcgetpgrp(ours_.get());
  if (foreground <= 0 || foreground == leader_) return;
  // The group must not be one of strangers, with the number of a group that has just ended.
  const pid_t session = ::getsid(foreground);
  if (session == leader_ || (session < 0 && errno == ESRCH)) ::kill(-foreground, signo);
}

void RankTerminal::hang_up_after(milliseconds delay) {
  timers_->hang_up.set(delay, [this] {
    signal(SIGHUP);
    signal(SIGCONT);
  });
}

void RankTerminal::end_input() {
  if (std::exchange(ended_, true)) return;
  type_end();
  type_end_after(kFirstAgain);
}

void RankTerminal::type_end() {
  const char key = end_key(theirs_.get());
  retry([&] { return ::write(ours_.get(), &key, 1); });
}

void RankTerminal::type_end_after(milliseconds delay) {
  timers_->end.set(delay, [this, delay] {
    if (unread_input(theirs_.get()) == 0) type_end();
    type_end_after(std::min(2 * delay, kLastAgain));
  });
}

}  // namespace scela::nla
