// An accept() that refuses connections of other users. libpmix listens on TCP within the machine
// and trusts the user id that a peer claims. Its only thread also waits for each peer's greeting.
// Therefore only processes of this user may connect. libpmix calls the accept() below instead of
// the C library's, because the program's own symbols come first. The function also records
// libpmix's connections.
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "common/os/process/socket_owner.h"
#include "pmix/server/copies.h"

namespace {

struct Connection {
  int fd = -1;
  ino_t socket = 0;  // libpmix may close fd, and fd be reused
};

ino_t socket_of(int fd) {
  struct stat found {};
  return ::fstat(fd, &found) == 0 && S_ISSOCK(found.st_mode) ? found.st_ino : 0;
}

struct Connections {
  std::mutex lock;
  std::vector<Connection> all;
};

Connections& connections() {
  static Connections made;
  return made;
}

void remember(int fd) {
  Connections& known = connections();
  const std::lock_guard guard(known.lock);
  std::erase_if(known.all, [](const Connection& one) { return socket_of(one.fd) != one.socket; });
  known.all.push_back({fd, socket_of(fd)});
}

std::vector<pollfd> ends_that_are_full() {
  std::vector<pollfd> ends;
  {
    Connections& known = connections();
    const std::lock_guard guard(known.lock);
    for (const Connection& one : known.all)
      if (socket_of(one.fd) == one.socket) ends.push_back({one.fd, POLLOUT, 0});
  }
  static_cast<void>(::poll(ends.data(), ends.size(), 0));
  // If the other side has ended, poll() reports that as an event, too.
  std::erase_if(ends, [](const pollfd& end) { return end.revents != 0; });
  return ends;
}

}  // namespace

void scela::pmix::wait_for_readers() {
  // The loop looks again at this interval, in milliseconds, because the close of a connection in
  // this process does not wake poll().
  constexpr int kLookAgainMs = 500;
  while (true) {
    std::vector<pollfd> full = ends_that_are_full();
    if (full.empty()) return;
    static_cast<void>(::poll(full.data(), 1, kLookAgainMs));
  }
}

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's are reserved.
extern "C" __attribute__((visibility("default"))) int accept(int fd, sockaddr* address,
                                                             socklen_t* size) {
  for (;;) {
    const int taken = ::accept4(fd, address, size, SOCK_CLOEXEC);
    if (taken < 0) return taken;
    if (scela::peer_is_this_user(taken)) {
      remember(taken);
      return taken;
    }
    ::close(taken);
  }
}
