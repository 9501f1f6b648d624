#include "pmix/server/link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
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
  static_cast<void>(::eventfd_write(wake_.get(), 1));
}

Id AgentLink::expect(OnAnswer then) {
  const std::lock_guard guard(lock_);
  asked_.emplace(next_, std::move(then));
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
  if (written_ == writing_.size()) {
    writing_.clear();
    written_ = 0;
    const std::lock_guard guard(lock_);
    writing_.swap(posted_);
  }
  while (written_ < writing_.size()) {
    const ssize_t wrote = retry([&] {
      return ::send(agent_.get(), writing_.data() + written_, writing_.size() - written_,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    });
    if (wrote < 0) return errno == EAGAIN;
    written_ += static_cast<std::size_t>(wrote);
  }
  return true;
}

void AgentLink::wait(bool read) {
  const bool left = written_ < writing_.size();
  pollfd ends[] = {
      {agent_.get(), static_cast<short>((read ? POLLIN : 0) | (left ? POLLOUT : 0)), 0},
      {wake_.get(), POLLIN, 0}};
  // While bytes are left, more of them are no news.
  retry([&] { return ::poll(ends, left ? 1 : 2, -1); });
  eventfd_t count = 0;
  if (!left) static_cast<void>(::eventfd_read(wake_.get(), &count));
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
    if (!write()) return;
    wait(true);
  }
}

void AgentLink::flush() {
  while (write() && written_ < writing_.size())
    wait(false);
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
