#include "pmix/server/agent_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "common/os/syscall.h"

namespace scela::pmix {

bool AgentLink::open() {
  wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return wake_.valid() && ::fcntl(agent_.get(), F_SETFD, FD_CLOEXEC) == 0;
}

void AgentLink::post(const Message& message) {
  const std::string bytes = encode(message);
  const std::lock_guard guard(lock_);
  posted_ += bytes;
  // The message is written at once if possible. A rank that libpmix lets go on may end before the
  // main thread runs. The agent must read the message about the rank before it handles that end.
  static_cast<void>(write_some());
  if (written_ < writing_.size()) static_cast<void>(::eventfd_write(wake_.get(), 1));
}

void AgentLink::later(std::function<void()> call) {
  const std::lock_guard guard(lock_);
  calls_.push_back(std::move(call));
  static_cast<void>(::eventfd_write(wake_.get(), 1));
}

void AgentLink::after(Limit time, std::function<void()> call) {
  const std::lock_guard guard(lock_);
  delayed_.emplace(Clock::now() + time, std::move(call));
  static_cast<void>(::eventfd_write(wake_.get(), 1));
}

Id AgentLink::expect(OnAnswer then, Limit limit, Overdue overdue) {
  const std::lock_guard guard(lock_);
  asked_.emplace(next_, std::move(then));
  if (limit != kEver) {
    limits_.emplace(Clock::now() + limit, std::pair(next_, overdue));
    static_cast<void>(::eventfd_write(wake_.get(), 1));  // wait() needs the new limit
  }
  return next_++;
}

bool AgentLink::read() {
  char bytes[64 * 1024];
  const ssize_t got =
      retry([&] { return ::recv(agent_.get(), bytes, sizeof bytes, MSG_DONTWAIT); });
  if (got > 0) decoder_.feed({bytes, static_cast<std::size_t>(got)});
  return got > 0 || (got < 0 && errno == EAGAIN);
}

bool AgentLink::write() {
  const std::lock_guard guard(lock_);
  return write_some();
}

bool AgentLink::write_some() {
  while (true) {
    if (written_ == writing_.size()) {
      writing_.clear();
      written_ = 0;
      if (posted_.empty()) return true;
      writing_.swap(posted_);
    }
    const ssize_t wrote = retry([&] {
      return ::send(agent_.get(), writing_.data() + written_, writing_.size() - written_,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    });
    if (wrote < 0) return errno == EAGAIN;
    written_ += static_cast<std::size_t>(wrote);
  }
}

void AgentLink::wait(bool read) {
  bool left = false;
  int patience = -1;
  {
    const std::lock_guard guard(lock_);
    left = written_ < writing_.size();
    auto next = Clock::time_point::max();
    if (!limits_.empty()) next = limits_.begin()->first;
    if (!delayed_.empty()) next = std::min(next, delayed_.begin()->first);
    if (next != Clock::time_point::max()) {
      const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
      patience = static_cast<int>(std::clamp<std::int64_t>(left_ms.count(), 0, INT_MAX));
    }
  }
  pollfd ends[] = {
      {agent_.get(), static_cast<short>((read ? POLLIN : 0) | (left ? POLLOUT : 0)), 0},
      {wake_.get(), POLLIN, 0}};
  retry([&] { return ::poll(ends, 2, patience); });
  eventfd_t count = 0;
  static_cast<void>(::eventfd_read(wake_.get(), &count));
}

// Calls the functions that are due, and handles questions that have passed their limit.
void AgentLink::call_due() {
  std::vector<std::function<void()>> calls;
  std::vector<Id> answered;
  std::vector<Id> given_up;
  {
    const std::lock_guard guard(lock_);
    calls.swap(calls_);
    const auto due = delayed_.upper_bound(Clock::now());
    for (auto at = delayed_.begin(); at != due; ++at)
      calls.push_back(std::move(at->second));
    delayed_.erase(delayed_.begin(), due);
    const auto end = limits_.upper_bound(Clock::now());
    for (auto at = limits_.begin(); at != end; ++at) {
      const auto [id, overdue] = at->second;
      if (asked_.contains(id)) (overdue == Overdue::answered ? answered : given_up).push_back(id);
    }
    limits_.erase(limits_.begin(), end);
  }
  for (const auto& call : calls)
    call();
  for (const Id id : answered)
    take({id, Status::timed_out, {}});
  for (const Id id : given_up)
    post(msg::GiveUp{id});
}

std::optional<Message> AgentLink::first() {
  while (true) {
    Result<std::optional<Message>> message = decoder_.next();
    if (!message) return std::nullopt;
    if (*message) return std::move(**message);
    wait(true);
    if (!read()) return std::nullopt;
  }
}

void AgentLink::run(const std::function<void(Message)>& other) {
  while (write() && read()) {
    while (true) {
      Result<std::optional<Message>> message = decoder_.next();
      if (!message) return;
      if (!*message) break;
      if (const auto* answer = std::get_if<msg::Answer>(&**message)) {
        take(*answer);
      } else {
        other(std::move(**message));
      }
    }
    call_due();
    if (!write()) return;
    wait(true);
  }
}

void AgentLink::flush() {
  while (write() && is_left())
    wait(false);
}

bool AgentLink::is_left() {
  const std::lock_guard guard(lock_);
  return written_ < writing_.size();
}

void AgentLink::take(const msg::Answer& answer) {
  OnAnswer then;
  {
    const std::lock_guard guard(lock_);
    const auto at = asked_.find(answer.id);
    if (at == asked_.end()) return;
    then = std::move(at->second);
    asked_.erase(at);
  }
  then(answer.status, answer.blob);
}

}  // namespace scela::pmix
