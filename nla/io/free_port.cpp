#include "nla/io/free_port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "nla/core/job/meeting_ports.h"
#include "nla/io/address.h"

namespace scela::nla {

namespace {

// Binds a socket to the port on all addresses, and closes it. Returns the port, or 0 if it is not
// free. Port 0 stands for any. A machine without IPv6 is asked for IPv4.
std::uint16_t try_port(std::uint16_t port) {
  for (const char* any : {"::", "0.0.0.0"}) {
    auto address = parse_address(any, port);
    if (!address) continue;
    const Fd made(::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!made) continue;
    if (::bind(made.get(), address->get(), address->size) != 0) return 0;
    // Another program may have the same port bound and listen; bind() alone refuses that only if
    // neither socket allows it.
    if (::listen(made.get(), 1) != 0) return 0;
    address->size = sizeof address->storage;
    if (::getsockname(made.get(), reinterpret_cast<sockaddr*>(&address->storage), &address->size) !=
        0) {
      return 0;
    }
    return address->port();
  }
  return 0;
}

}  // namespace

std::uint16_t free_port(std::string_view job_id) {
  const PortRange handed_out =
      parse_port_range(read_small_file("/proc/sys/net/ipv4/ip_local_port_range"));
  for (const std::uint16_t port : meeting_ports(job_id, handed_out))
    if (try_port(port) != 0) return port;
  return try_port(0);
}

}  // namespace scela::nla
