// An IP address and a TCP port where a node's engine listens. A value: threads need no rule.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scela::hca {

// An IPv4 or IPv6 address in network byte order, and a port as a number.
struct Endpoint {
  bool is_ipv6 = false;
  std::array<std::uint8_t, 16> address{};  // IPv4 uses the first four bytes
  std::uint16_t port = 0;

  // Parses "192.0.2.1:7000" or "[2001:db8::1]:7000". Names are not looked up. Returns std::nullopt
  // if the text is neither.
  static std::optional<Endpoint> parse(std::string_view text);
  // Returns the address in `storage`, which must be an IPv4 or IPv6 address.
  static Endpoint of(const sockaddr_storage& storage);
  // Returns the local address of a socket, or std::nullopt if the kernel does not say.
  static std::optional<Endpoint> of_socket(int socket);
  // Returns the text that parse() takes.
  std::string text() const;
  // Writes the address to `to`, for connect() or bind(). Returns its length in bytes.
  socklen_t fill(sockaddr_storage& to) const;
  // Returns AF_INET6 or AF_INET.
  int family() const { return is_ipv6 ? AF_INET6 : AF_INET; }
  // Returns true for 0.0.0.0 and [::].
  bool is_any() const { return address == std::array<std::uint8_t, 16>{}; }
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

}  // namespace scela::hca
