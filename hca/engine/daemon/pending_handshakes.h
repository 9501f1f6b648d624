// The times by which new connections must have said that they use the engine. Server uses it, on
// the engine's thread. Times are nanoseconds.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "hca/core/model/engine.h"

namespace scela::hca {

// The new connections, in the order in which they came.
class PendingHandshakes {
 public:
  // `most` is the time, in nanoseconds, that a connection has.
  explicit PendingHandshakes(Moment most) : max_(most) {}

  // Notes a new connection by its number, at the time `now`. Calls must be in the order of the
  // times.
  void came(ProcessId id, Moment now) { waiting_.push_back({id, now + max_}); }
  // Returns the connections with a time that is over at `now`. Each is returned once. Some may have
  // sent their first message meanwhile, or be closed: the caller checks that.
  std::vector<ProcessId> due(Moment now) {
    std::vector<ProcessId> found;
    for (; !waiting_.empty() && waiting_.front().second <= now; waiting_.pop_front())
      found.push_back(waiting_.front().first);
    return found;
  }
  // Returns when the next connection is due, or std::nullopt if there is none.
  std::optional<Moment> deadline() const {
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().second);
  }

 private:
  Moment max_;
  std::deque<std::pair<ProcessId, Moment>> waiting_;
};

}  // namespace scela::hca
