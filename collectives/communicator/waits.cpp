// One wait for requests of all kinds. Each executor is asked for the messages that it waits for,
// and the channel waits for any of them. If an executor cannot name them, the wait looks now and
// then.
#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "collectives/communicator/request.h"
#include "collectives/include/scela/waits.h"
#include "comm-channel/include/scela/request.h"

namespace scela {

using namespace collectives;

struct Waits {
  // Returns true if the operation is over and has not been waited for. If it is under way,
  // `executor` is set to the executor that runs it.
  static bool is_over(const CollectiveRequest& request, Executor*& executor) {
    const CollectiveRequest::State* const state = request.state_.get();
    if (state == nullptr || state->stage == CollectiveRequest::State::Stage::over) return false;
    if (state->stage != CollectiveRequest::State::Stage::under_way)
      return static_cast<bool>(state->own);  // refused at once
    if (state->run->is_over()) return true;
    executor = state->group->engine->executor.get();
    return false;
  }
  // Returns null if the operation is not under way, or if another executor runs it.
  static Run* run_of(const CollectiveRequest& request, const Executor* executor) {
    const CollectiveRequest::State* const state = request.state_.get();
    if (state == nullptr || state->stage != CollectiveRequest::State::Stage::under_way)
      return nullptr;
    return state->group->engine->executor.get() == executor ? state->run : nullptr;
  }
};

namespace {

constexpr std::chrono::nanoseconds kBetweenLooks = std::chrono::milliseconds(1);
// Executors find out some events, such as ends of ranks, only when they are called. This is the
// time between two calls.
constexpr std::chrono::nanoseconds kBetweenCalls = std::chrono::milliseconds(50);

class WaitLimit {
 public:
  using Clock = std::chrono::steady_clock;
  using Limit = CollectiveRequest::Limit;

  // A limit beyond the end of the clock counts as no limit.
  explicit WaitLimit(Limit limit) {
    if (limit && *limit < Clock::time_point::max() - Clock::now()) until_ = Clock::now() + *limit;
  }
  Limit left() const {
    if (!until_) return {};
    return std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(*until_ - Clock::now()));
  }
  bool over() const { return until_ && Clock::now() >= *until_; }

 private:
  std::optional<Clock::time_point> until_;
};

// `At` returns the Waitable with an index.
template <class At>
class Wait {
 public:
  Wait(std::size_t count, At at, CollectiveRequest::Limit limit)
      : count_(count), at_(at), deadline_(limit) {}

  std::size_t any() {
    for (;;) {
      if (const std::size_t found = look(); found != count_) return found;
      if (executors_.empty()) return has_messages_ ? wait_for_messages(deadline_.left()) : count_;
      if (executors_.size() == 1 && !has_messages_)
        return executors_.front()->wait_any(runs_of(executors_.front()), deadline_.left());
      for (Executor* const executor : executors_)
        executor->progress();
      Executor* const silent = ask();
      // From now on each executor that was asked wakes the wait. A request that was over before is
      // seen here.
      if (const std::size_t found = look(); found != count_) return found;
      if (executors_.empty()) continue;
      const bool is_last = deadline_.over();
      const std::size_t found =
          wait_for_messages(silent == nullptr ? soon(kBetweenCalls) : std::chrono::nanoseconds(0));
      if (found < count_) return found;
      if (found != waited_.size()) continue;
      if (is_last) return count_;
      if (silent != nullptr) silent->wait_any(runs_of(silent), soon(kBetweenLooks));
    }
  }

 private:
  // Returns the index of the first request that is over. If there is none, it returns count_ and
  // lists the executors of those under way.
  std::size_t look() {
    executors_.clear();
    waited_.resize(std::max(waited_.size(), count_));
    has_messages_ = false;
    for (std::size_t i = 0; i < count_; ++i) {
      const Waitable one = at_(i);
      waited_[i] = one.message();
      has_messages_ = has_messages_ || one.message() != nullptr;
      if (one.operation() == nullptr) continue;
      Executor* executor = nullptr;
      if (Waits::is_over(*one.operation(), executor)) return i;
      if (executor != nullptr && std::ranges::find(executors_, executor) == executors_.end())
        executors_.push_back(executor);
    }
    return count_;
  }

  // Appends the messages that executors wait for to the program's own. Returns an executor that
  // cannot name its messages, or null.
  Executor* ask() {
    Executor* silent = nullptr;
    waited_.resize(count_);
    for (Executor* const executor : executors_)
      if (!executor->add_requests(waited_)) silent = executor;
    return silent;
  }

  std::size_t wait_for_messages(CollectiveRequest::Limit limit) {
    return channel::wait_any(std::span<channel::Request* const>(waited_), limit);
  }

  const std::vector<Run*>& runs_of(const Executor* of) {
    runs_.assign(count_, nullptr);
    for (std::size_t i = 0; i < count_; ++i)
      if (const CollectiveRequest* const operation = at_(i).operation())
        runs_[i] = Waits::run_of(*operation, of);
    return runs_;
  }

  Transport::Limit soon(std::chrono::nanoseconds most) const {
    const Transport::Limit left = deadline_.left();
    return left ? std::min(*left, most) : most;
  }

  const std::size_t count_;
  const At at_;
  const WaitLimit deadline_;
  std::vector<Executor*> executors_;
  std::vector<channel::Request*> waited_;
  std::vector<Run*> runs_;
  bool has_messages_ = false;
};

bool is_under_way(const Waitable& one) {
  if (one.message() != nullptr) return !one.message()->test();
  if (one.operation() == nullptr) return false;
  Executor* executor = nullptr;
  return !Waits::is_over(*one.operation(), executor) && executor != nullptr;
}

}  // namespace

std::size_t wait_any(std::span<CollectiveRequest> requests, CollectiveRequest::Limit limit) {
  const auto at = [&](std::size_t i) { return Waitable(requests[i]); };
  return Wait(requests.size(), at, limit).any();
}

std::size_t wait_any(std::span<const Waitable> requests, CollectiveRequest::Limit limit) {
  const auto at = [&](std::size_t i) { return requests[i]; };
  return Wait(requests.size(), at, limit).any();
}

bool wait_all(std::span<const Waitable> requests, CollectiveRequest::Limit limit) {
  const WaitLimit deadline(limit);
  std::vector<Waitable> left(requests.begin(), requests.end());
  for (;;) {
    const std::size_t found = wait_any(std::span<const Waitable>(left), deadline.left());
    if (found == left.size()) return std::ranges::none_of(left, is_under_way);
    left[found] = {};
  }
}

}  // namespace scela
