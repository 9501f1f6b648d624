// Decides which of the faults happen that the adapter injects on purpose (Faults).
//
// Requesters, responders and the sender of datagrams ask it before they do something that may fail.
// It also has the times in which the engine executes nothing (its rests, Faults::slow_us), and its
// death (Faults::dies_after). Without faults it draws no numbers. The interpreter's one thread uses
// it.
#pragma once

#include <cstdint>

#include "common/core/random.h"
#include "hca/core/model/engine.h"

namespace scela::hca {

// Draws the faults. Moments are nanoseconds of the engine's clock.
class FaultInjector {
 public:
  // `random` must live as long as the injector.
  FaultInjector(const Faults& faults, Random& random) : faults_(faults), random_(random) {}

  const Faults& faults() const { return faults_; }
  // Draws whether a fault of this rate, in a thousand, happens now. A rate of 0 draws nothing and
  // returns false.
  bool happens(std::uint32_t rate) { return rate != 0 && random_.chance(rate, 1000); }
  // Draws a number of nanoseconds in [least, most].
  Moment draw_delay(Moment least, Moment most) { return random_.between(least, most); }

  // Called before a request is begun. Returns false if the engine dies instead, and has_died() is
  // true from then on. Otherwise counts the request, and the engine rests from `now` on for
  // Faults::slow_us.
  bool may_begin_request(Moment now);
  // Returns true after the engine's death: it does nothing more.
  bool has_died() const { return has_died_; }
  // Returns true if the engine executes nothing at the time `now`, because it rests or has died.
  bool rests(Moment now) const { return has_died_ || now < rests_until_; }
  // Returns the end of the last rest, or 0 if there was none.
  Moment rests_until() const { return rests_until_; }

 private:
  Faults faults_;
  Random& random_;
  Moment rests_until_ = 0;
  std::uint64_t begun_ = 0;  // requests
  bool has_died_ = false;
};

}  // namespace scela::hca
