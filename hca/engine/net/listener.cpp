#include "hca/engine/net/listener.h"

#include <sys/socket.h>

#include <cerrno>

#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::hca {

namespace {
constexpr int kBacklog = 1024;
}  // namespace

Result<Listener> Listener::open(const Endpoint& at) {
  Fd made(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_storage address{};
  const socklen_t size = at.fill(address);
  const int on = 1;
  const auto listens = [&] {
    ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return ::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
           ::listen(made.get(), kBacklog) == 0;
  };
  if (!made || !listens()) {
    return fail(os_error(ErrorKind::io, cat("listen at ", at.text()), errno));
  }
  const auto bound = Endpoint::of_socket(made.get());
  if (!bound) return fail(os_error(ErrorKind::io, cat("listen at ", at.text()), errno));
  return Listener(std::move(made), bound->port);
}

Fd Listener::accept() const {
  while (true) {
    Fd made(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (made || (errno != EINTR && errno != ECONNABORTED)) return made;
  }
}

}  // namespace scela::hca
