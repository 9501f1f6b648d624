#include "nla/dial/dial_in.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "nla/dial/dial_hello.h"

namespace scela::nla {

namespace {

constexpr char kWhat[] = "dial in to scela-run";

Result<std::vector<Address>> parse(std::string_view list) {
  std::vector<Address> out;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view one = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t colon = one.rfind(':');
    std::string_view host = one.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const std::string_view digits = colon == std::string_view::npos ? "" : one.substr(colon + 1);
    std::uint16_t port = 0;
    const char* const end = digits.data() + digits.size();
    const bool is_port = std::from_chars(digits.data(), end, port).ptr == end && port > 0;
    const auto address = is_port ? parse_address(std::string(host), port) : std::nullopt;
    if (!address) {
      return fail(
          Error{ErrorKind::usage, kWhat, {}, cat("'", one, "' is no address with a port"), {}});
    }
    out.push_back(*address);
  }
  return out;
}

// Reads the line with the secret. Another program must not read the rest, so this reads only it.
std::string read_line() {
  std::string line;
  char c = 0;
  while (line.size() <= kDialSecretDigits && retry([&] { return ::read(0, &c, 1); }) == 1 &&
         c != '\n')
    line += c;
  return line;
}

std::string read_opened(const Fd& opened) {
  char secret[kDialSecretDigits];
  const ssize_t got = retry([&] { return ::read(opened.get(), secret, sizeof secret); });
  return {secret, got > 0 ? static_cast<std::size_t>(got) : 0};
}

// Waits for the secret at descriptor 0 and at `opened`. A place that ends without one is left.
Result<std::string> read_secret(const Fd& opened) {
  pollfd places[] = {{0, POLLIN, 0}, {opened.get(), POLLIN, 0}};
  while (places[0].fd >= 0 || places[1].fd >= 0) {
    if (retry([&] { return ::poll(places, 2, -1); }) < 0) break;
    for (pollfd& place : places) {
      if (place.fd < 0 || place.revents == 0) continue;
      std::string secret = place.fd == 0 ? read_line() : read_opened(opened);
      if (secret.size() == kDialSecretDigits) return secret;
      place.fd = -1;
    }
  }
  return fail(Error{ErrorKind::io,
                    kWhat,
                    {},
                    "standard input has no secret of the job",
                    "the command that has started this agent must pass its own input on"});
}

void close_input() {
  const int null = ::open("/dev/null", O_RDWR);
  if (null == 0) return;  // it was not open
  ::dup2(null, 0);
  ::close(null);
}

// Connects within kDialMs. Returns an errno if that fails.
int connect_to(const Address& address, Fd& socket) {
  socket = Fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno;
  if (::connect(socket.get(), address.get(), address.size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd ready{socket.get(), POLLOUT, 0};
  if (retry([&] { return ::poll(&ready, 1, kDialMs); }) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

std::string with_port(const std::string& address, std::uint16_t port) {
  const bool is_ipv6 = address.find(':') != std::string::npos;
  return cat(is_ipv6 ? "[" : "", address, is_ipv6 ? "]:" : ":", port);
}

}  // namespace

Result<DialedIn> dial_address(const Address& root) {
  DialedIn out;
  const int error = connect_to(root, out.socket);
  const std::string host = root.text();
  if (error != 0) {
    return fail(Error{ErrorKind::unreachable,
                      kWhat,
                      {},
                      cat(host, " port ", root.port(), ": ", errno_text(error)),
                      "let the nodes connect to the machine of scela-run, or give --launch ssh"});
  }
  out.own.size = sizeof out.own.storage;
  ::getsockname(out.socket.get(), reinterpret_cast<sockaddr*>(&out.own.storage), &out.own.size);
  out.own_text = out.own.text();
  out.ssh_connection = cat(host, " ", root.port(), " ", out.own_text, " ", out.own.port());
  out.own.set_port(0);
  return out;
}

Result<DialedIn> dial_in(std::string_view addresses, Fd opened) {
  auto roots = parse(addresses);
  if (!roots) return fail(std::move(roots.error()));
  auto secret = read_secret(opened);
  opened.reset();
  close_input();
  if (!secret) return fail(std::move(secret.error()));
  std::optional<Error> failure;
  for (const Address& root : *roots) {
    auto made = dial_address(root);
    if (made) {
      made->secret = std::move(*secret);
      return made;
    }
    const std::string before = failure ? cat(failure->why, "; ") : "";
    failure = std::move(made.error());
    failure->why = cat(before, failure->why);
  }
  return fail(failure.value_or(Error{ErrorKind::usage, kWhat, {}, "no address is given", {}}));
}

void notice_lost_peer(const Fd& socket) {
  // Smaller times would give up a peer behind a network that is down for a moment.
  const int yes = 1, idle_s = 15, interval_s = 5, probes = 3;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

std::string addresses_to_dial(std::uint16_t port, std::string_view network) {
  if (network.empty()) return addresses_to_dial(port, interface_addresses());
  const auto chosen = address_in_network(network);
  return chosen ? with_port(*chosen, port) : std::string();
}

std::string addresses_to_dial(std::uint16_t port, const std::vector<InterfaceAddress>& machine) {
  std::string found, loopback;
  for (const InterfaceAddress& one : machine) {
    std::string& out = one.is_loopback ? loopback : found;
    out += cat(out.empty() ? "" : ",", with_port(one.address, port));
  }
  return found.empty() ? loopback : found;
}

}  // namespace scela::nla
