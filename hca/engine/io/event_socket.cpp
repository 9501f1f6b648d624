#include "hca/engine/io/event_socket.h"

#include <sys/socket.h>

#include <cerrno>

namespace scela::hca {

EventSocket::Sent EventSocket::send_now(std::span<const std::byte> event) const {
  const ssize_t sent = retry([&] {
    return ::send(socket_.get(), event.data(), event.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  });
  if (sent >= 0) return Sent::done;
  return errno == EAGAIN || errno == ENOBUFS ? Sent::full : Sent::closed;
}

bool EventSocket::send(std::span<const std::byte> event) {
  // A socket that the process has closed accepts every event: no program waits for it.
  if (kept_.empty() && send_now(event) != Sent::full) return true;
  if (kept_.size() >= kMaxKept) return false;
  kept_.emplace_back(reinterpret_cast<const char*>(event.data()), event.size());
  return true;
}

void EventSocket::flush() {
  while (!kept_.empty()) {
    if (send_now(std::as_bytes(std::span(kept_.front()))) == Sent::full) return;
    kept_.pop_front();
  }
}

}  // namespace scela::hca
