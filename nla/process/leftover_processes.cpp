#include "nla/process/leftover_processes.h"

#include <signal.h>

#include <chrono>

namespace scela::nla {

void LeftoverProcesses::end(bool force) {
  if (force) {
    state_ = State::killing;
    return kill();
  }
  state_ = State::asked;
  check();
  if (state_ == State::asked) descendants_.signal_all(SIGTERM, children_.kept_sessions());
}

void LeftoverProcesses::check() {
  if (descendants_.any(children_.kept_sessions())) return;
  state_ = State::not_awaited;
  if (kill_timer_) kill_timer_->cancel();
  context_.emit(event::NodeEmpty{});
}

void LeftoverProcesses::kill() {
  descendants_.signal_all(SIGKILL, children_.kept_sessions());
  check();
  if (state_ != State::killing) return;
  if (!kill_timer_) kill_timer_.emplace(context_.io);
  kill_timer_->set(std::chrono::milliseconds(kKillAgainMs), [this] {
    if (state_ != State::killing) return;
    kill();
    context_.pump();
  });
}

}  // namespace scela::nla
