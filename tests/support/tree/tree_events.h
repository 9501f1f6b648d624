// The events that the agents of a tree have not handled yet, in order of arrival.
// One thread uses this part.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "nla/core/tree/events.h"

namespace scela::nla::testing {

class TreeEvents {
 public:
  void post(int node, Event event) { queue_.emplace_back(node, std::move(event)); }
  // Calls `what` once, before this number of events have been handled from now on.
  void interrupt_after(std::uint64_t events, std::function<void()> what) {
    until_ = events;
    interrupt_ = std::move(what);
  }
  bool interrupted() const { return until_ == 0; }
  // Returns the next event and the node that it is for, or std::nullopt.
  std::optional<std::pair<int, Event>> take() {
    if (queue_.empty()) return std::nullopt;
    if (until_ > 0 && --until_ == 0) std::exchange(interrupt_, nullptr)();
    auto next = std::move(queue_.front());
    queue_.pop_front();
    return next;
  }

 private:
  std::deque<std::pair<int, Event>> queue_;
  std::uint64_t until_ = 0;
  std::function<void()> interrupt_;
};

}  // namespace scela::nla::testing
