// Helpers of executors that wait: which of several runs is over, and when the limit of a wait is
// reached. Any thread may use them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

#include "collectives/executors/run/message_transport.h"
#include "collectives/executors/run/run.h"

namespace scela::collectives {

// Returns the index of the first run that is over, or runs.size() if none is. Null entries are
// passed over.
inline std::size_t first_over(std::span<Run* const> runs) {
  const auto at =
      std::ranges::find_if(runs, [](const Run* run) { return run != nullptr && run->is_over(); });
  return static_cast<std::size_t>(at - runs.begin());
}

// Returns true if at least one entry is not null.
inline bool is_any(std::span<Run* const> runs) {
  return std::ranges::any_of(runs, [](const Run* run) { return run != nullptr; });
}

// The time at which a wait ends. A wait without a limit never ends by itself.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  // `limit` is the time from now; a negative one counts as 0. Without a value, or if the value is
  // beyond the range of the clock, there is no limit.
  explicit Deadline(Transport::Timeout limit) {
    if (limit && *limit < Clock::time_point::max() - Clock::now())
      until_ = Clock::now() + std::max(*limit, std::chrono::nanoseconds(0));
  }
  // Returns true once the limit is reached, and never if there is none.
  bool over() const { return until_ && Clock::now() >= *until_; }
  // Returns the time that is left, at least 0; std::nullopt if there is no limit.
  Transport::Timeout left() const {
    if (!until_) return {};
    return std::max(std::chrono::nanoseconds(0),
                    std::chrono::duration_cast<std::chrono::nanoseconds>(*until_ - Clock::now()));
  }
  // Returns the lesser of `time` and the time that is left.
  std::chrono::nanoseconds at_most(std::chrono::nanoseconds time) const {
    const Transport::Timeout rest = left();
    return rest ? std::min(time, *rest) : time;
  }
  // Returns the time of the limit; std::nullopt if there is none.
  const std::optional<Clock::time_point>& until() const { return until_; }

 private:
  std::optional<Clock::time_point> until_;
};

}  // namespace scela::collectives
