// The timers of an agent's core (nla/core/tree/events.h). The shell uses them, on its loop.
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
  explicit CoreTimers(ShellContext& context) : context_(context) {}

  void carry_out(const action::SetTimer& set) {
    std::optional<Alarm>& timer = timers_[static_cast<std::size_t>(set.timer)];
    if (!timer) timer.emplace(context_.io);
    timer->set(std::chrono::milliseconds(set.delay_ms), [this, which = set.timer] {
      context_.emit(event::TimerFired{which});
      context_.pump();
    });
  }
  void carry_out(const action::CancelTimer& cancel) {
    std::optional<Alarm>& timer = timers_[static_cast<std::size_t>(cancel.timer)];
    if (timer) timer->cancel();
  }

 private:
  ShellContext& context_;
  std::array<std::optional<Alarm>, kTimers> timers_;
};

}  // namespace scela::nla
