#include "hca/engine/net/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

#include "common/core/text.h"

namespace scela::hca {

std::optional<Endpoint> Endpoint::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  Endpoint made;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const char* const end = port.data() + port.size();
  const auto parsed = std::from_chars(port.data(), end, made.port);
  if (port.empty() || parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  made.is_ipv6 = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (made.is_ipv6) host = host.substr(1, host.size() - 2);
  if (::inet_pton(made.family(), std::string(host).c_str(), made.address.data()) != 1) {
    return std::nullopt;
  }
  return made;
}

std::optional<Endpoint> Endpoint::of_socket(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) {
    return std::nullopt;
  }
  return of(storage);
}

Endpoint Endpoint::of(const sockaddr_storage& storage) {
  Endpoint made;
  made.is_ipv6 = storage.ss_family == AF_INET6;
  if (made.is_ipv6) {
    sockaddr_in6 whole{};
    std::memcpy(&whole, &storage, sizeof whole);
    std::memcpy(made.address.data(), &whole.sin6_addr, 16);
    made.port = ntohs(whole.sin6_port);
  } else {
    sockaddr_in whole{};
    std::memcpy(&whole, &storage, sizeof whole);
    std::memcpy(made.address.data(), &whole.sin_addr, 4);
    made.port = ntohs(whole.sin_port);
  }
  return made;
}

std::string Endpoint::text() const {
  char host[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(family(), address.data(), host, sizeof host);
  return is_ipv6 ? cat("[", host, "]:", port) : cat(host, ":", port);
}

socklen_t Endpoint::fill(sockaddr_storage& to) const {
  to = {};
  if (is_ipv6) {
    sockaddr_in6 whole{};
    whole.sin6_family = AF_INET6;
    whole.sin6_port = htons(port);
    std::memcpy(&whole.sin6_addr, address.data(), 16);
    std::memcpy(&to, &whole, sizeof whole);
    return sizeof whole;
  }
  sockaddr_in whole{};
  whole.sin_family = AF_INET;
  whole.sin_port = htons(port);
  std::memcpy(&whole.sin_addr, address.data(), 4);
  std::memcpy(&to, &whole, sizeof whole);
  return sizeof whole;
}

}  // namespace scela::hca
