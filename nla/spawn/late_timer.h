// A timer that tells if its handler runs long after it has expired. In that case this process did
// not run meanwhile (it was stopped, or its machine was), and an answer may have come long ago.
//
// The phases of starting an agent use it. If the limit of a phase passed while the process was
// stopped, the phase gets its limit again: a user may stop scela-run with ctrl-Z while it starts.
// If a machine is too slow to run timers in time, a phase lasts four times its limit at most.
//
// Runs on the loop of its timer, in one thread.
#pragma once

#include <chrono>

#include "common/os/asio.h"

namespace scela::nla {

class LateTimer {
 public:
  explicit LateTimer(boost::asio::io_context& io) : timer(io) {}

  void begin() { late_ = 0; }  // another phase begins
  // Returns true if the phase gets its limit again. To be called when the timer has expired.
  bool may_wait_again() {
    return std::chrono::steady_clock::now() - timer.expiry() > kLate && ++late_ <= kMostLate;
  }

  boost::asio::steady_timer timer;

 private:
  // Smaller: an overloaded machine gives phases more time than they are told to have; larger:
  // answers that came during a short stop are not looked at.
  static constexpr std::chrono::milliseconds kLate{250};
  static constexpr int kMostLate = 3;
  int late_ = 0;
};

}  // namespace scela::nla
