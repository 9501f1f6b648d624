#include "nla/io/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::nla {

namespace {

in_port_t& port_field(const Address& address) {
  auto& storage = const_cast<sockaddr_storage&>(address.storage);
  return address.family() == AF_INET ? reinterpret_cast<sockaddr_in&>(storage).sin_port
                                     : reinterpret_cast<sockaddr_in6&>(storage).sin6_port;
}

// Returns the address without its interface.
std::optional<std::string> text_of(const sockaddr_storage& storage) {
  char text[INET6_ADDRSTRLEN] = {};
  const void* const bytes =
      storage.ss_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(storage).sin_addr)
          : &reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr;
  if (::inet_ntop(storage.ss_family, bytes, text, sizeof text) == nullptr) return {};
  return text;
}

// Returns the length of the prefix that a netmask stands for; 0: there is none.
std::uint32_t bits_of(const sockaddr* mask, int family) {
  if (mask == nullptr) return 0;
  const bool is_ipv4 = family == AF_INET;
  const auto* const bytes =
      reinterpret_cast<const char*>(mask) +
      (is_ipv4 ? offsetof(sockaddr_in, sin_addr) : offsetof(sockaddr_in6, sin6_addr));
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < (is_ipv4 ? sizeof(in_addr) : sizeof(in6_addr)); ++i)
    bits += static_cast<std::uint32_t>(std::popcount(static_cast<unsigned char>(bytes[i])));
  return bits;
}

}  // namespace

std::uint16_t Address::port() const {
  return ntohs(port_field(*this));
}
void Address::set_port(std::uint16_t port) {
  port_field(*this) = htons(port);
}

// getnameinfo(3) would bring the resolver into the agent, a twentieth of its size.
std::string Address::text() const {
  std::string out = text_of(storage).value_or("");
  char interface[IF_NAMESIZE];
  if (family() == AF_INET6 &&
      ::if_indextoname(reinterpret_cast<const sockaddr_in6&>(storage).sin6_scope_id, interface) !=
          nullptr)
    out += cat('%', interface);
  return out;
}

std::optional<Address> parse_address(const std::string& text, std::uint16_t port) {
  Address out;
  auto& four = reinterpret_cast<sockaddr_in&>(out.storage);
  if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    out.size = sizeof four;
    return out;
  }
  auto& six = reinterpret_cast<sockaddr_in6&>(out.storage);
  const std::size_t percent = text.find('%');
  if (::inet_pton(AF_INET6, text.substr(0, percent).c_str(), &six.sin6_addr) != 1) return {};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  if (percent != std::string::npos) {
    six.sin6_scope_id = ::if_nametoindex(text.substr(percent + 1).c_str());
  }
  out.size = sizeof six;
  return out;
}

Result<Fd> listen_at(Address& address, int waiting) {
  const auto refused = [](const char* what) {
    return fail(os_error(ErrorKind::io, cat(what, " for a direct connection"), errno, ""));
  };
  address.set_port(0);
  Fd listening(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listening) return refused("make a socket");
  if (::bind(listening.get(), address.get(), address.size) != 0) return refused("take a port");
  if (::listen(listening.get(), waiting) != 0) return refused("listen");
  if (::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address.storage),
                    &address.size) != 0)
    return refused("learn the port");
  return listening;
}

std::optional<std::string> address_towards(const Address& other) {
  const Fd socket(::socket(other.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (!socket || ::connect(socket.get(), other.get(), other.size) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) {
    return {};
  }
  return text_of(own);
}

std::optional<std::string> address_of_this_machine() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    if ((at->ifa_flags & IFF_UP) == 0 || (at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    sockaddr_storage storage{};
    reinterpret_cast<sockaddr_in&>(storage) = *reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
    return text_of(storage);
  }
  return {};
}

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
  std::vector<InterfaceAddress> out;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    sockaddr_storage storage{};
    std::memcpy(&storage, at->ifa_addr,
                family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    const auto text = text_of(storage);
    if (text && !text->starts_with("fe80:"))
      out.push_back({at->ifa_name, *text, bits_of(at->ifa_netmask, family),
                     (at->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return out;
}

Result<std::string> address_in_network(std::string_view network) {
  return address_in(network, interface_addresses());
}

std::optional<SshConnection> parse_ssh_connection(const std::string& text) {
  std::array<std::string, 4> fields;  // address and port of client, then server
  std::size_t at = 0;
  for (std::string& field : fields) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end <= at) return {};
    field = text.substr(at, end - at);
    at = std::min(end + 1, text.size());
  }
  SshConnection out{fields[0], 0, fields[2], 0};
  const auto is_port = [](const std::string& field, std::uint16_t& port) {
    const auto end = field.data() + field.size();
    return std::from_chars(field.data(), end, port).ptr == end;
  };
  if (at != text.size() || !is_port(fields[1], out.client_port) ||
      !is_port(fields[3], out.server_port) || !parse_address(out.client, out.client_port) ||
      !parse_address(out.server, 0)) {
    return {};
  }
  return out;
}

std::optional<SshConnection> own_ssh_connection() {
  const char* text = std::getenv("SSH_CONNECTION");
  return text == nullptr ? std::nullopt : parse_ssh_connection(text);
}

}  // namespace scela::nla
