// The timers of an agent's core (Timer of nla/core/tree/events.h). The shell, the code around the
// core that makes system calls, uses them on its loop.
#pragma once

#include <array>
#include <chrono>
#include <optional>

#include "common/os/alarm.h"
#include "nla/core/tree/actions.h"
#include "nla/node/shell_context.h"

namespace scela::nla {

class CoreTimers {
 public:
  // `context` is borrowed. The timers use its loop.
  explicit CoreTimers(ShellContext& context) : context_(context) {}

  // Starts the timer, or starts it anew. When it fires, the core gets event::TimerFired.
  void carry_out(const action::SetTimer& set) {
    std::optional<Alarm>& timer = timers_[static_cast<std::size_t>(set.timer)];
    if (!timer) timer.emplace(context_.io);
    timer->set(std::chrono::milliseconds(set.delay_ms), [this, which = set.timer] {
      context_.emit(event::TimerFired{which});
      context_.pump();
    });
  }
  // Stops the timer, if it runs.
  void carry_out(const action::CancelTimer& cancel) {
    std::optional<Alarm>& timer = timers_[static_cast<std::size_t>(cancel.timer)];
    if (timer) timer->cancel();
  }

 private:
  ShellContext& context_;
  std::array<std::optional<Alarm>, kTimers> timers_;
};

}  // namespace scela::nla
