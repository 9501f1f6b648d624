// A numeric address and a port, and functions that find this machine's own addresses. Agents use no
// name service. The shell, the host probe, the TLS links and the ssh sessions use it, and so does
// scela-run. The functions keep no state and never block.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/network/network_choice.h"
#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela::nla {

// A numeric IPv4 or IPv6 address with a port, in the form of the socket calls.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  // Returns AF_INET or AF_INET6.
  int family() const { return storage.ss_family; }
  // Returns the port, in host byte order.
  std::uint16_t port() const;
  // Sets the port, in host byte order.
  void set_port(std::uint16_t port);
  // Returns the address without the port, as parse_address() reads it.
  std::string text() const;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Reads a numeric IPv4 or IPv6 address; an IPv6 address may end in "%INTERFACE". Returns
// std::nullopt for anything else.
std::optional<Address> parse_address(const std::string& text, std::uint16_t port);

// Listens at the address, at a port that the kernel chooses, and sets its port. At most `waiting`
// connections wait until they are accepted. Error (io): the system refuses.
Result<Fd> listen_at(Address& address, int waiting);

// Returns the source address, as text, that this machine's routes select for packets to `other`.
// Nothing is sent. Returns std::nullopt if there is no route.
std::optional<std::string> address_towards(const Address& other);
// Returns the IPv4 address of the first interface that is up and is no loopback interface, as text.
// Returns std::nullopt if there is none.
std::optional<std::string> address_of_this_machine();

// Returns the addresses of this machine's interfaces that are up, with their subnets. Those of IPv6
// that are good for one link only are left out.
std::vector<InterfaceAddress> interface_addresses();
// Returns the address of this machine that a choice of --network means. Errors are those of
// address_in().
Result<std::string> address_in_network(std::string_view network);

// The connection over which sshd started this process, from $SSH_CONNECTION.
struct SshConnection {
  std::string client;
  std::uint16_t client_port = 0;
  std::string server;  // the address that the client connected to
  std::uint16_t server_port = 0;
};
// Reads the value of $SSH_CONNECTION. Returns std::nullopt if it does not have four valid fields.
std::optional<SshConnection> parse_ssh_connection(const std::string& text);
// Returns the connection by which sshd started this process, or std::nullopt if sshd has not
// started it.
std::optional<SshConnection> own_ssh_connection();

}  // namespace scela::nla
