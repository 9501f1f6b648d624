// Helpers of executors: which of several runs is over, and when the limit of a wait is. Any thread
// may use them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

#include "collectives/executors/run/run.h"
#include "collectives/executors/run/transport.h"

namespace scela::collectives {

// Returns the index of the first run that is over, or runs.size() if none is.
inline std::size_t first_over(std::span<Run* const> runs) {
  const auto at =
      std::ranges::find_if(runs, [](const Run* run) { return run != nullptr && run->is_over(); });
  return static_cast<std::size_t>(at - runs.begin());
}

// Returns true if an entry is not null.
inline bool is_any(std::span<Run* const> runs) {
  return std::ranges::any_of(runs, [](const Run* run) { return run != nullptr; });
}

// The end of a wait. A wait without a limit has none.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  // A limit beyond the range of the clock counts as none.
  explicit Deadline(Transport::Timeout limit) {
    if (limit && *limit < Clock::time_point::max() - Clock::now())
      until_ = Clock::now() + std::max(*limit, std::chrono::nanoseconds(0));
  }
  // Returns false for ever if there is no limit.
  bool over() const { return until_ && Clock::now() >= *until_; }
  // Returns the time that is left, at least 0. It has no value if there is no limit.
  Transport::Timeout left() const {
    if (!until_) return {};
    return std::max(std::chrono::nanoseconds(0),
                    std::chrono::duration_cast<std::chrono::nanoseconds>(*until_ - Clock::now()));
  }
  // Returns the lesser of `time` and the time that is left, at least 0.
  std::chrono::nanoseconds at_most(std::chrono::nanoseconds time) const {
    const Transport::Timeout rest = left();
    return rest ? std::min(time, *rest) : time;
  }
  const std::optional<Clock::time_point>& until() const { return until_; }

 private:
  std::optional<Clock::time_point> until_;
};

}  // namespace scela::collectives
