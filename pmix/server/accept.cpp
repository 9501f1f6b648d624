// libpmix listens on TCP within the machine and believes the user that a peer claims to be, after
// a greeting for which its only thread waits. So nobody but this user gets that far: libpmix calls
// the accept() below instead of the C library's, as the program's own symbols come first.
#include <sys/socket.h>
#include <unistd.h>

#include "common/os/socket_owner.h"

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's are reserved.
extern "C" __attribute__((visibility("default"))) int accept(int fd, sockaddr* address,
                                                             socklen_t* size) {
  for (;;) {
    const int taken = ::accept4(fd, address, size, SOCK_CLOEXEC);
    if (taken < 0) return taken;
    if (scela::peer_is_this_user(taken)) return taken;
    ::close(taken);
  }
}
