// Decides when a request that the device refuses counts as a failure of the device. One refusal may
// be chance; refusals that go on for more than a second are a failure.
#pragma once

#include <chrono>
#include <optional>

#include "comm-channel/core/connect/connection_events.h"

namespace scela::channel {

class DeviceHealth {
 public:
  // The device has accepted a request.
  void over() { since_.reset(); }
  // The device has refused once more. Returns true if it has done so for more than kMax.
  bool lasts(connect::Time now) {
    if (!since_) since_ = now;
    return now - *since_ > kMax;
  }

 private:
  static constexpr connect::Time kMax = std::chrono::seconds(1);
  std::optional<connect::Time> since_;
};

}  // namespace scela::channel
