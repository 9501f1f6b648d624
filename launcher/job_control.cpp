#include "launcher/job_control.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <utility>

#include "common/os/process/blocked_signals.h"
#include "common/os/terminal.h"

namespace scela {

namespace {

namespace event = nla::event;

// The interval at which it is checked that the stop signal was sent to the ranks, and the maximum
// number of checks, after which scela-run stops itself.
constexpr std::chrono::milliseconds kStopMoment{10};
constexpr int kStopMoments = 100;

}  // namespace

struct JobControl::Watch {
  explicit Watch(boost::asio::io_context& io) : signals(io, SIGTERM), suspension(io) {}
  boost::asio::signal_set signals;
  boost::asio::steady_timer suspension;
};

JobControl::JobControl(const Plan& plan, Hooks hooks) : plan_(plan), hooks_(std::move(hooks)) {}

JobControl::~JobControl() = default;

void JobControl::open(boost::asio::io_context& io) {
  watch_ = std::make_unique<Watch>(io);
  boost::asio::signal_set& signals = watch_->signals;
  // Signals that nohup or a script's "&" made this process ignore stay ignored.
  for (const int signo : {SIGINT, SIGHUP, SIGQUIT, SIGTSTP}) {
    struct sigaction before {};
    if (::sigaction(signo, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      signals.add(signo);
  }
  for (const int signo : {SIGUSR1, SIGUSR2, SIGCONT})
    signals.add(signo);
  if (plan_.pty) signals.add(SIGWINCH);
  wait_signal();
}

void JobControl::wait_signal() {
  watch_->signals.async_wait([this](const boost::system::error_code& error, int signo) {
    if (error || stage_ == Stage::over) return;
    on_signal(signo);
    wait_signal();
  });
}

void JobControl::on_signal(int signo) {
  switch (signo) {
    case SIGUSR1:
    case SIGUSR2:
      return hooks_.post(event::UserSignal{signo});
    case SIGQUIT:
      return hooks_.show_stacks();
    case SIGTSTP:
      // The signal is SIGSTOP, as the ranks' process groups have no shell, and SIGTSTP does not
      // stop such groups.
      hooks_.post(event::UserSignal{SIGSTOP});
      return suspend(kStopMoments);
    case SIGCONT:
      watch_->suspension.cancel();
      hooks_.post(event::UserSignal{SIGCONT});
      enter_terminal(Entry::after_stop);
      return window_changed();  // it may have changed meanwhile
    case SIGWINCH:
      return window_changed();
    default:
      return hooks_.end_job(signo);
  }
}

// Stops this process after the stop signal was sent to the ranks. Agents never stop.
void JobControl::suspend(int moments) {
  watch_->suspension.expires_after(kStopMoment);
  watch_->suspension.async_wait([this, moments](const boost::system::error_code& error) {
    if (error || stage_ == Stage::over) return;
    if (!hooks_.all_sent() && moments > 0) return suspend(moments - 1);
    leave_terminal();
    hooks_.before_stop();
    ::raise(SIGSTOP);
  });
}

void JobControl::launched() {
  if (stage_ == Stage::starting) stage_ = Stage::running;
  enter_terminal(Entry::first);
}

void JobControl::rank_over(Rank rank) {
  if (!plan_.job.terminal_ranks.contains(rank)) return;
  if (stage_ != Stage::over) stage_ = Stage::terminal_over;
  leave_terminal();
}

void JobControl::close() {
  stage_ = Stage::over;
  watch_->suspension.cancel();
  {
    const BlockedSignals blocked;
    watch_->signals.clear();
    // They have no effect while hosts are left. Children would inherit that they are ignored.
    for (const int signo : {SIGUSR1, SIGUSR2})
      ::signal(signo, [](int) {});
  }
  if (terminal_.entered()) RawTerminal::also_at_usual_signals();
}

// Enters raw mode if the job has a terminal and this process is in the foreground of one.
void JobControl::enter_terminal(Entry entry) {
  if (!plan_.pty || stage_ != Stage::running) return;
  if (entry == Entry::first) {
    terminal_.enter();
  } else {
    terminal_.enter_again();
  }
  hooks_.set_raw(terminal_.entered());
}

void JobControl::leave_terminal() {
  terminal_.leave();
  hooks_.set_raw(false);
}

void JobControl::window_changed() {
  if (!plan_.pty) return;
  if (const auto size = window_size(0)) hooks_.post(event::WindowChanged{*size});
}

}  // namespace scela
