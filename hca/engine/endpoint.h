// An address and a TCP port that a node's engine listens at.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scela::hca {

struct Endpoint {
  bool is_ipv6 = false;
  std::array<std::uint8_t, 16> address{};  // of IPv4 the first four
  std::uint16_t port = 0;

  // "192.0.2.1:7000" or "[2001:db8::1]:7000"; names are not looked up.
  static std::optional<Endpoint> parse(std::string_view text);
  static Endpoint of(const sockaddr_storage& storage);
  static std::optional<Endpoint> of_socket(int socket);  // that it is bound to
  std::string text() const;
  // How long it is.
  socklen_t fill(sockaddr_storage& to) const;
  int family() const { return is_ipv6 ? AF_INET6 : AF_INET; }
  bool is_any() const { return address == std::array<std::uint8_t, 16>{}; }
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

}  // namespace scela::hca
