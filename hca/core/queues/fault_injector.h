// Decides which of the faults happen that the adapter injects on purpose (Faults).
//
// Requesters, responders and the sender of datagrams ask it before they do something that may fail.
// It has the engine's rests and its death; without faults it draws no numbers. The interpreter's
// one thread uses it.
#pragma once

#include <cstdint>

#include "common/core/random.h"
#include "hca/core/model/engine.h"

namespace scela::hca {

class FaultInjector {
 public:
  // `random` must live as long as the injector.
  FaultInjector(const Faults& faults, Random& random) : faults_(faults), random_(random) {}

  const Faults& faults() const { return faults_; }
  // Draws whether a fault of this rate, in a thousand, happens now. A rate of 0 draws nothing.
  bool happens(std::uint32_t rate) { return rate != 0 && random_.chance(rate, 1000); }
  // Returns a number of nanoseconds in [least, most].
  Moment draw_delay(Moment least, Moment most) { return random_.between(least, most); }

  // Called before a request is begun. Returns false if the engine dies instead
  // (Faults::dies_after). Otherwise it rests afterwards (Faults::slow_us).
  bool may_begin_request(Moment now);
  bool has_died() const { return has_died_; }
  // Returns whether the engine executes nothing now, because it rests or has died.
  bool rests(Moment now) const { return has_died_ || now < rests_until_; }
  Moment rests_until() const { return rests_until_; }

 private:
  Faults faults_;
  Random& random_;
  Moment rests_until_ = 0;
  std::uint64_t begun_ = 0;  // requests
  bool has_died_ = false;
};

}  // namespace scela::hca
