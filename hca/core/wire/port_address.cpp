#include "hca/core/wire/port_address.h"

#include <algorithm>
#include <span>

namespace scela::hca {
namespace {

constexpr std::uint8_t kPrefix[4] = {0xFD, 0x5C, 0xE1, 0xA1};

void put(std::span<std::uint8_t> to, std::uint32_t number) {
  for (std::size_t i = to.size(); i > 0; number >>= 8)
    to[--i] = static_cast<std::uint8_t>(number);
}

std::uint32_t number_in(std::span<const std::uint8_t> bytes) {
  std::uint32_t number = 0;
  for (const std::uint8_t byte : bytes)
    number = number << 8 | byte;
  return number;
}

}  // namespace

Gid gid_of(const NodeAddress& address) {
  Gid gid;
  const std::span<std::uint8_t> bytes = gid.bytes;
  std::ranges::copy(kPrefix, bytes.begin());
  put(bytes.subspan(4, 4), address.tag);
  std::ranges::copy(address.ipv4, bytes.begin() + 8);
  put(bytes.subspan(12, 2), address.tcp_port);
  put(bytes.subspan(14, 2), 2 * address.node + address.port - 1);
  return gid;
}

std::optional<NodeAddress> address_of(const Gid& gid) {
  const std::span<const std::uint8_t> bytes = gid.bytes;
  if (!std::ranges::equal(bytes.first(4), kPrefix)) return std::nullopt;
  NodeAddress address;
  address.tag = number_in(bytes.subspan(4, 4));
  std::ranges::copy(bytes.subspan(8, 4), address.ipv4.begin());
  address.tcp_port = static_cast<std::uint16_t>(number_in(bytes.subspan(12, 2)));
  const std::uint32_t port = number_in(bytes.subspan(14, 2));
  address.node = port / 2;
  address.port = port % 2 + 1;
  if (address.node >= kMaxNodes) return std::nullopt;
  return address;
}

std::uint8_t port_of(const Gid& gid, bool is_global, std::uint16_t lid) {
  const bool is_second = is_global ? gid.bytes[15] % 2 == 1 : lid % 2 == 0;
  return is_second ? 2 : 1;
}

std::optional<std::uint32_t> node_of_lid(std::uint16_t lid) {
  if (lid == 0 || (lid - 1u) / 2 >= kMaxNodes) return std::nullopt;
  return (lid - 1u) / 2;
}

}  // namespace scela::hca
