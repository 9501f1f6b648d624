#include "comm-channel/include/scela/request.h"

#include <utility>

#include "comm-channel/api/progress.h"
#include "comm-channel/api/shared_operations.h"
#include "comm-channel/engine/error_words.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/include/inside.h"

namespace scela {

using namespace channel;

namespace {

const Status kOfNothing;

Status misused(const char* why) {
  return {Code::bad_request, -1, why};
}

}  // namespace

Request& Request::operator=(Request&& other) noexcept {
  if (this != &other) {
    if (operation_ != nullptr || body_ != nullptr) reset();
    operation_ = std::exchange(other.operation_, nullptr);
    body_ = std::exchange(other.body_, nullptr);
  }
  return *this;
}

void Request::reset() {
  if (body_ != nullptr) return std::exchange(body_, nullptr)->release();
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
  if (body_ != nullptr) return body_->test();
  if (operation_ == nullptr || operation_->everybodys || operation_->progress->is_copy())
    return true;
  return operation_->progress->with([&](Messenger&) {
    if (operation_->phase == Phase::waiting) operation_->progress->poll();
    return operation_->phase != Phase::waiting;
  });
}

bool channel::Inside::is_complete(const Request& request) {
  const Operation* const operation = request.operation_;
  if (operation == nullptr || operation->everybodys || operation->progress->is_copy()) return true;
  return operation->progress->with([&](Messenger&) { return operation->phase != Phase::waiting; });
}

bool channel::Inside::completes(Request& request, Timeout timeout) {
  const Operation* const operation = request.operation_;
  if (operation == nullptr || operation->everybodys || operation->progress->is_copy()) return true;
  return request.completes(timeout);
}

bool Request::completes(Timeout timeout) {
  const Operation& operation = *operation_;
  return operation.progress->wait_until(
      [&](Messenger&) { return operation.phase != Phase::waiting; }, timeout);
}

Status Request::wait(Timeout timeout) {
  if (body_ != nullptr) return body_->wait(timeout);
  if (operation_ == nullptr) return {};
  if (operation_->everybodys) {
    operation_ = &after_wait(*operation_);
    return operation_->status;
  }
  if (operation_->progress->is_copy()) {
    operation_->was_waited_for = true;
    return error_of_child();
  }
  if (!completes(timeout)) return error_with(Code::timed_out, *operation_);
  if (operation_->phase == Phase::idle)
    return misused("wait for a persistent request that was not started (start it first)");
  operation_->was_waited_for = true;
  return operation_->status;
}

const Status& Request::status() const {
  if (body_ != nullptr) return body_->status();
  return operation_ == nullptr ? kOfNothing : operation_->status;
}

bool Request::cancel() {
  if (operation_ == nullptr || operation_->everybodys || operation_->progress->is_copy())
    return false;
  return operation_->progress->with(
      [&](Messenger& messenger) { return messenger.cancel(*operation_); });
}

Status Request::start() {
  if (body_ != nullptr) return body_->start();
  if (operation_ == nullptr || !operation_->persistent)
    return misused("start a request that is not persistent");
  if (operation_->progress->is_copy()) return error_of_child();
  return operation_->progress->with([&](Messenger& messenger) -> Status {
    if (operation_->phase == Phase::waiting)
      return misused("start a request that is under way (wait for it first)");
    if (operation_->invalid) return operation_->status;
    messenger.begin(*operation_);
    return {};
  });
}

bool Request::persistent() const {
  if (body_ != nullptr) return body_->persistent();
  return operation_ != nullptr && operation_->persistent;
}

std::string Request::describe() const {
  if (body_ != nullptr) return body_->describe();
  if (operation_ == nullptr) return "nothing";
  if (operation_->everybodys) return "a message that was complete at once";
  return what_of(*operation_);
}

}  // namespace scela
