// Connections of processes that have not said who they are: for how long they may take to.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "hca/core/engine.h"

namespace scela::hca {

class Newcomers {
 public:
  explicit Newcomers(Moment most) : most_(most) {}

  // In the order of their moments.
  void came(ProcessId id, Moment now) { waiting_.push_back({id, now + most_}); }
  // Who has come so long ago, each once; some may have spoken, or gone.
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
  Moment most_;
  std::deque<std::pair<ProcessId, Moment>> waiting_;
};

}  // namespace scela::hca
