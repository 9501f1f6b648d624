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

// Writes the ranks of its communicator into the status of an operation that is complete.
Status& in_group(Operation& operation) {
  if (operation.untranslated) operation.group->translate(operation.status);
  operation.untranslated = false;
  return operation.status;
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
  if (!completes(timeout)) {
    Status late = error_with(Code::timed_out, *operation_);
    return operation_->in_group ? operation_->group->translated(std::move(late)) : late;
  }
  if (operation_->phase == Phase::idle)
    return misused("wait for a persistent request that was not started (start it first)");
  operation_->was_waited_for = true;
  if (operation_->untranslated) [[unlikely]]
    return in_group(*operation_);
  return operation_->status;
}

const Status& Request::status() const {
  if (body_ != nullptr) return body_->status();
  if (operation_ == nullptr) return kOfNothing;
  return operation_->untranslated && channel::Inside::is_complete(*this) ? in_group(*operation_)
                                                                         : operation_->status;
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
    if (operation_->invalid) return in_group(*operation_);
    if (operation_->in_group && operation_->group->is_freed())
      return {Code::bad_communicator, -1,
              "start a message: its communicator was freed, and nothing more is started in it"};
    messenger.begin(*operation_);
    return {};
  });
}

Status Request::detach() {
  if (body_ != nullptr) {
    if (body_->mover() != nullptr && !body_->is_over())
      return misused(
          "detach a collective operation that is under way (wait for it: all ranks need each one's "
          "part)");
    reset();
    return {};
  }
  if (operation_ == nullptr || operation_->everybodys || operation_->progress->is_copy()) {
    operation_ = nullptr;
    return {};
  }
  const bool goes_on = operation_->progress->with([&](Messenger& messenger) {
    if (operation_->phase != Phase::waiting) return false;
    messenger.detach(*operation_);
    return true;
  });
  if (goes_on)
    operation_ = nullptr;
  else
    reset();
  return {};
}

bool Request::persistent() const {
  if (body_ != nullptr) return body_->persistent();
  return operation_ != nullptr && operation_->persistent;
}

std::string Request::describe() const {
  if (body_ != nullptr) return body_->describe();
  if (operation_ == nullptr) return "empty request";
  if (operation_->everybodys) return "send that was complete at once";
  if (!operation_->in_group || operation_->group->is_whole()) return what_of(*operation_);
  const int rank = operation_->is_send ? operation_->peer : operation_->pattern.source;
  std::string text = what_of(*operation_);
  if (rank >= 0)
    text += " (rank " + std::to_string(operation_->group->rank_of(rank)) + " of the communicator)";
  return text;
}

}  // namespace scela
