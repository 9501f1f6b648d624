// A numeric address and a port. Agents have no name service.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace scela::nla {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  int family() const { return storage.ss_family; }
  std::uint16_t port() const;
  void set_port(std::uint16_t port);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// IPv4 or IPv6, the latter perhaps with "%INTERFACE". None: it is neither.
std::optional<Address> parse_address(const std::string& text, std::uint16_t port);

// Text of the address that this machine would speak to that one from: what its routes say, nothing
// is sent. None: there is no way there.
std::optional<std::string> address_towards(const Address& other);
// Of this machine's own IPv4 addresses, the first that leads elsewhere. None: it has none.
std::optional<std::string> address_of_this_machine();

// What sshd told this process of the connection that it was started over; empty: nothing.
struct SshConnection {
  std::string client;
  std::uint16_t client_port = 0;
  std::string server;  // the address that the client reached this machine by
  std::uint16_t server_port = 0;
};
// `text` is $SSH_CONNECTION.
std::optional<SshConnection> parse_ssh_connection(const std::string& text);

}  // namespace scela::nla
