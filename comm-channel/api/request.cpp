#include "comm-channel/include/scela/request.h"

#include <algorithm>
#include <array>
#include <utility>

#include "comm-channel/api/progress.h"
#include "comm-channel/engine/error_words.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/include/inside.h"

namespace scela::channel {

namespace {

const Status kOfNothing;

// `at(i)` returns the i-th operation, or null. If no operation waits, it does not matter which
// messenger polls.
template <class At>
std::size_t wait_for_any(std::size_t count, At at, const Limit& limit) {
  Progress* progress = nullptr;
  for (std::size_t i = 0; i < count && progress == nullptr; ++i)
    if (const Operation* const operation = at(i); operation != nullptr && !operation->everybodys)
      progress = operation->progress;
  std::size_t found = count;
  const auto is_found = [&] {
    bool any_waits = false;
    for (std::size_t i = 0; i < count; ++i) {
      const Operation* const operation = at(i);
      if (operation == nullptr) continue;
      if (operation->complete()) {
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
    is_found();
    for (std::size_t i = 0; progress != nullptr && i < count && found == count; ++i)
      if (const Operation* const operation = at(i);
          operation != nullptr && operation->phase == Phase::waiting)
        found = i;
  } else {
    progress->wait_until([&](Messenger&) { return is_found(); }, limit);
  }
  return found;
}

}  // namespace

Request& Request::operator=(Request&& other) noexcept {
  if (this != &other) {
    reset();
    operation_ = std::exchange(other.operation_, nullptr);
  }
  return *this;
}

void Request::reset() {
  if (operation_ == nullptr) return;
  Operation& operation = *std::exchange(operation_, nullptr);
  if (operation.everybodys) return;
  Progress& progress = *operation.progress;
  if (progress.is_copy()) return;
  // Within the lock, since another thread that moves messages may complete it at this moment.
  bool last = false;
  const auto released = [&](Messenger& messenger) {
    if (operation.phase == Phase::waiting) messenger.cancel(operation);
    if (operation.phase == Phase::waiting) return false;
    messenger.release(operation);
    last = progress.released();
    return true;
  };
  if (!progress.with(released)) {
    progress.wait_until([&](Messenger&) { return operation.complete(); }, {});
    progress.with(released);
  }
  if (last) progress.let_go();
}

bool Request::test() {
  if (operation_ == nullptr || operation_->everybodys || operation_->progress->is_copy())
    return true;
  return operation_->progress->with([&](Messenger&) {
    if (operation_->phase == Phase::waiting) operation_->progress->poll();
    return operation_->phase != Phase::waiting;
  });
}

bool Inside::is_complete(const Request& request) {
  const Operation* const operation = request.operation_;
  if (operation == nullptr || operation->everybodys || operation->progress->is_copy()) return true;
  return operation->progress->with([&](Messenger&) { return operation->phase != Phase::waiting; });
}

// Blocks until the operation is complete or the limit has passed. Returns whether it is complete.
bool Request::completes(Limit limit) {
  const Operation& operation = *operation_;
  return operation.progress->wait_until(
      [&](Messenger&) { return operation.phase != Phase::waiting; }, limit);
}

Status Request::wait(Limit limit) {
  if (operation_ == nullptr) return {};
  if (operation_->everybodys) return operation_->status;
  if (operation_->progress->is_copy()) return {-1, -1, 0, error_of_child()};
  if (completes(limit)) return operation_->status;
  return {-1, -1, 0, error_with(Code::timed_out, *operation_)};
}

const Status& Request::status() const {
  return operation_ == nullptr ? kOfNothing : operation_->status;
}

bool Request::cancel() {
  if (operation_ == nullptr || operation_->everybodys || operation_->progress->is_copy())
    return false;
  return operation_->progress->with(
      [&](Messenger& messenger) { return messenger.cancel(*operation_); });
}

ChannelError Request::start() {
  if (operation_ == nullptr || !operation_->persistent)
    return {Code::argument, -1,
            std::make_shared<const std::string>("start a request that is not persistent")};
  if (operation_->progress->is_copy()) return error_of_child();
  return operation_->progress->with([&](Messenger& messenger) -> ChannelError {
    if (operation_->phase == Phase::waiting)
      return {Code::argument, -1,
              std::make_shared<const std::string>(
                  "start a request that is under way (wait for it first)")};
    if (operation_->invalid) return operation_->status.error;
    messenger.begin(*operation_);
    return {};
  });
}

bool Request::persistent() const {
  return operation_ != nullptr && operation_->persistent;
}

std::size_t wait_any(std::span<Request> requests, Limit limit) {
  return wait_for_any(
      requests.size(), [&](std::size_t i) { return requests[i].operation_; }, limit);
}

std::size_t wait_any(std::span<Request* const> requests, Limit limit) {
  const auto at = [&](std::size_t i) {
    return requests[i] == nullptr ? nullptr : requests[i]->operation_;
  };
  return wait_for_any(requests.size(), at, limit);
}

bool wait_all(std::span<Request> requests, Limit limit) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> until;  // none: the clock does not go so far
  if (limit && *limit < Clock::time_point::max() - Clock::now()) until = Clock::now() + *limit;
  for (Request& request : requests) {
    Limit left;
    if (until)
      left = std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(*until - Clock::now()));
    if (request.wait(left).error.code == Code::timed_out) return false;
  }
  return true;
}

}  // namespace scela::channel
