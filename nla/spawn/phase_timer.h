// The limit of a phase of starting an agent: connecting, exchanging keys, authenticating, waiting
// for the agent's answer.
//
// If the limit passed while this process did not run (it was stopped, or its machine was), an
// answer may have come long ago. Then the phase gets its limit again: a user may stop scela-run
// with ctrl-Z while it starts. If a machine is too slow to run timers in time, a phase lasts four
// times its limit at most.
//
// Used on the loop of its io_context, in one thread.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "common/os/alarm.h"

namespace scela::nla {

// Times one phase after the other.
class PhaseTimer {
 public:
  explicit PhaseTimer(boost::asio::io_context& io) : alarm_(io) {}

  // Begins a phase; the one before is over. Calls `passed` from the loop once the phase has had its
  // limit.
  void begin(std::chrono::milliseconds limit, std::function<void()> passed) {
    late_ = 0;
    wait(limit, std::move(passed));
  }
  // Ends the phase. Its `passed` does not run any more.
  void end() { alarm_.cancel(); }

 private:
  // Waits for the limit, once more if the alarm was late.
  void wait(std::chrono::milliseconds limit, std::function<void()> passed) {
    alarm_.set(limit, [this, limit, passed = std::move(passed)]() mutable {
      const bool late = Alarm::Clock::now() - alarm_.expiry() > kLate;
      if (late && ++late_ <= kMaxLate) return wait(limit, std::move(passed));
      passed();
    });
  }

  // Smaller: an overloaded machine gives phases more time than they are told to have; larger:
  // answers that came during a short stop are not looked at.
  static constexpr std::chrono::milliseconds kLate{250};
  static constexpr int kMaxLate = 3;

  Alarm alarm_;
  int late_ = 0;
};

}  // namespace scela::nla
