// What a device refuses, and is asked for again: once may be chance, and what does not end is its
// failure.
#pragma once

#include <chrono>
#include <optional>

#include "comm-channel/core/connection_events.h"

namespace scela::channel {

class Trouble {
 public:
  void over() { since_.reset(); }
  // It was refused, once more. True: that has lasted for too long.
  bool lasts(connect::Time now) {
    if (!since_) since_ = now;
    return now - *since_ > kMost;
  }

 private:
  static constexpr connect::Time kMost = std::chrono::seconds(1);
  std::optional<connect::Time> since_;
};

}  // namespace scela::channel
