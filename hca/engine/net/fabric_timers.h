// The timers of Fabric, in the order of their times. Only the engine's thread uses them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>

#include "hca/core/model/engine.h"

namespace scela::hca {

// The time from the first byte of a connection to the verdict; also how long frames wait for a
// connection. With a smaller value a loaded node counts as lost. With a larger one programs wait
// longer until they know that a node is gone.
inline constexpr Moment kGreetingNs = 10'000'000'000;

// A set of timers; all times are nanoseconds.
class FabricTimers {
 public:
  // `greeting`: a connection that is not established by then fails. `retry`: this node tries to
  // connect to a node again. `listening`: it accepts connections again.
  enum class Kind : std::uint8_t { greeting, retry, listening };
  struct Timer {
    Moment due = 0;
    Kind kind = Kind::greeting;
    // The number of the connection (`greeting`) or of the node (`retry`), or 0.
    std::uint32_t id = 0;
    friend auto operator<=>(const Timer&, const Timer&) = default;
  };

  // Adds a timer. Two timers of one time, kind and id are one.
  void set(const Timer& timer) { timers_.insert(timer); }
  // Removes this timer; an unknown one is ignored.
  void remove(const Timer& timer) { timers_.erase(timer); }
  // Removes the earliest timer that is due and returns it, or std::nullopt if none is due.
  std::optional<Timer> take_due(Moment now) {
    if (timers_.empty() || timers_.begin()->due > now) return std::nullopt;
    return timers_.extract(timers_.begin()).value();
  }
  // Returns the time of the earliest timer, or std::nullopt if there is none.
  std::optional<Moment> deadline() const {
    return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->due);
  }

 private:
  std::set<Timer> timers_;
};

}  // namespace scela::hca
