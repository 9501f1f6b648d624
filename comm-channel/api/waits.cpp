// One wait for requests of all kinds. If there are only messages, the channel waits for them. For
// other requests each mover is asked for the messages that it waits for, and the channel waits for
// any of them. If a mover cannot name them, the wait looks now and then.
#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "comm-channel/api/progress.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/include/inside.h"

namespace scela {

using namespace channel;

namespace {

constexpr std::chrono::nanoseconds kBetweenLooks = std::chrono::milliseconds(1);
// Movers find out some events, such as ends of ranks, only when they are called. This is the time
// between two calls.
constexpr std::chrono::nanoseconds kBetweenCalls = std::chrono::milliseconds(50);

// Waits for messages. `at(i)` returns the i-th operation, or null. An operation that was waited for
// does not choose the messenger that polls: its channel may be closed.
template <class At>
std::size_t wait_for_messages(std::size_t count, At at, const Timeout& timeout) {
  Progress* progress = nullptr;
  for (std::size_t i = 0; i < count && progress == nullptr; ++i)
    if (const Operation* const operation = at(i);
        operation != nullptr && !operation->everybodys && !operation->was_waited_for)
      progress = operation->progress;
  std::size_t found = count;
  const auto look = [&] {
    bool any_waits = false;
    for (std::size_t i = 0; i < count; ++i) {
      const Operation* const operation = at(i);
      if (operation == nullptr) continue;
      if (operation->complete() && !operation->was_waited_for) {
        found = i;
        return true;
      }
      any_waits = any_waits || operation->phase == Phase::waiting;
    }
    return !any_waits;
  };
  // In a child process (fork) nothing completes any more; a wait for the operation returns the
  // reason.
  if (progress == nullptr || progress->is_copy()) {
    look();
    for (std::size_t i = 0; progress != nullptr && i < count && found == count; ++i)
      if (const Operation* const operation = at(i);
          operation != nullptr && operation->phase == Phase::waiting && !operation->was_waited_for)
        found = i;
  } else {
    progress->wait_until([&](Messenger&) { return look(); }, timeout);
  }
  return found;
}

class WaitLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // A timeout beyond the end of the clock counts as none.
  explicit WaitLimit(Timeout timeout) {
    if (timeout && *timeout < Clock::time_point::max() - Clock::now())
      until_ = Clock::now() + std::max(*timeout, std::chrono::nanoseconds(0));
  }
  Timeout left() const {
    if (!until_) return {};
    return std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(*until_ - Clock::now()));
  }
  bool over() const { return until_ && Clock::now() >= *until_; }

 private:
  std::optional<Clock::time_point> until_;
};

// Waits for requests of which some have bodies. `at(i)` returns the i-th request, or null.
template <class At>
class MixedWait {
 public:
  MixedWait(std::size_t count, At at, const WaitLimit& limit)
      : count_(count), at_(at), limit_(limit) {}

  std::size_t any() {
    for (;;) {
      waited_.assign(count_, nullptr);
      if (const std::size_t found = look(); found != count_) return found;
      if (movers_.empty()) return has_messages_ ? wait_for_all(limit_.left()) : count_;
      if (movers_.size() == 1 && !has_messages_)
        return movers_.front()->wait_any(bodies(), limit_.left());
      for (RequestMover* const mover : movers_)
        mover->progress();
      RequestMover* const silent = ask();
      // From now on each mover that was asked wakes the wait. A request that was over before is
      // seen here.
      if (const std::size_t found = look(); found != count_) return found;
      if (movers_.empty()) continue;
      const bool is_last = limit_.over();
      const std::size_t found =
          wait_for_all(silent == nullptr ? soon(kBetweenCalls) : std::chrono::nanoseconds(0));
      if (found < count_) return found;
      if (found != waited_.size()) continue;
      if (is_last) return count_;
      if (silent != nullptr) silent->wait_any(bodies(), soon(kBetweenLooks));
    }
  }

 private:
  // Returns the index of the first request with a body that is over. If there is none, it returns
  // count_ and lists the movers of those under way.
  std::size_t look() {
    movers_.clear();
    has_messages_ = false;
    for (std::size_t i = 0; i < count_; ++i) {
      Request* const one = at_(i);
      waited_[i] = nullptr;
      if (one == nullptr) continue;
      RequestBody* const body = Inside::body_of(*one);
      if (body == nullptr) {
        waited_[i] = one;
        has_messages_ = has_messages_ || Inside::operation_of(*one) != nullptr;
        continue;
      }
      if (body->is_over()) return i;
      RequestMover* const mover = body->mover();
      if (mover != nullptr && std::ranges::find(movers_, mover) == movers_.end())
        movers_.push_back(mover);
    }
    return count_;
  }

  // Appends the messages that movers wait for to the program's own. Returns a mover that cannot
  // name its messages, or null.
  RequestMover* ask() {
    RequestMover* silent = nullptr;
    for (RequestMover* const mover : movers_)
      if (!mover->add_requests(waited_)) silent = mover;
    return silent;
  }

  std::size_t wait_for_all(Timeout timeout) {
    return wait_for_messages(
        waited_.size(),
        [this](std::size_t i) {
          return waited_[i] == nullptr ? nullptr : Inside::operation_of(*waited_[i]);
        },
        timeout);
  }

  const std::vector<RequestBody*>& bodies() {
    bodies_.assign(count_, nullptr);
    for (std::size_t i = 0; i < count_; ++i)
      if (const Request* const one = at_(i)) bodies_[i] = Inside::body_of(*one);
    return bodies_;
  }

  Timeout soon(std::chrono::nanoseconds most) const {
    const Timeout left = limit_.left();
    return left ? std::min(*left, most) : most;
  }

  const std::size_t count_;
  const At at_;
  const WaitLimit& limit_;
  std::vector<RequestMover*> movers_;
  std::vector<Request*> waited_;  // messages: the program's by index, then those of movers
  std::vector<RequestBody*> bodies_;
  bool has_messages_ = false;
};

template <class At>
bool has_bodies(std::size_t count, At at) {
  for (std::size_t i = 0; i < count; ++i)
    if (const Request* const one = at(i); one != nullptr && Inside::body_of(*one) != nullptr)
      return true;
  return false;
}

template <class At>
std::size_t wait_for_any(std::size_t count, At at, Timeout timeout) {
  if (has_bodies(count, at)) return MixedWait(count, at, WaitLimit(timeout)).any();
  const auto operation_at = [&](std::size_t i) {
    const Request* const one = at(i);
    return one == nullptr ? nullptr : Inside::operation_of(*one);
  };
  return wait_for_messages(count, operation_at, timeout);
}

// Messages are waited for one after the other. If there are other requests, each that is complete
// is taken from the list.
template <class At>
bool wait_for_every(std::size_t count, At at, Timeout timeout) {
  const WaitLimit limit(timeout);
  if (!has_bodies(count, at)) {
    for (std::size_t i = 0; i < count; ++i)
      if (Request* const one = at(i); one != nullptr && !Inside::completes(*one, limit.left()))
        return false;
    return true;
  }
  std::vector<Request*> left(count);
  for (std::size_t i = 0; i < count; ++i)
    left[i] = at(i);
  for (;;) {
    const auto left_at = [&](std::size_t i) { return left[i]; };
    const std::size_t found = wait_for_any(count, left_at, limit.left());
    if (found == count)
      return std::ranges::all_of(
          left, [](Request* request) { return request == nullptr || request->test(); });
    left[found] = nullptr;
  }
}

}  // namespace

std::size_t wait_any(std::span<Request> requests, Timeout timeout) {
  return wait_for_any(
      requests.size(), [&](std::size_t i) { return &requests[i]; }, timeout);
}

std::size_t wait_any(std::span<Request* const> requests, Timeout timeout) {
  return wait_for_any(
      requests.size(), [&](std::size_t i) { return requests[i]; }, timeout);
}

bool wait_all(std::span<Request> requests, Timeout timeout) {
  return wait_for_every(
      requests.size(), [&](std::size_t i) { return &requests[i]; }, timeout);
}

bool wait_all(std::span<Request* const> requests, Timeout timeout) {
  return wait_for_every(
      requests.size(), [&](std::size_t i) { return requests[i]; }, timeout);
}

}  // namespace scela
