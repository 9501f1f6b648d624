// Keeps the time at which each new connection must have said that it uses the engine. Server uses
// it, on the engine's thread.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "hca/core/model/engine.h"

namespace scela::hca {

class PendingHandshakes {
 public:
  explicit PendingHandshakes(Moment most) : max_(most) {}

  // Called in the order of the times.
  void came(ProcessId id, Moment now) { waiting_.push_back({id, now + max_}); }
  // Returns each connection once, after its time. Some may have spoken meanwhile, or gone.
  std::vector<ProcessId> due(Moment now) {
    std::vector<ProcessId> found;
    for (; !waiting_.empty() && waiting_.front().second <= now; waiting_.pop_front())
      found.push_back(waiting_.front().first);
    return found;
  }
  std::optional<Moment> deadline() const {
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().second);
  }

 private:
  Moment max_;
  std::deque<std::pair<ProcessId, Moment>> waiting_;
};

}  // namespace scela::hca
