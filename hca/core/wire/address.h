// The addresses of a node's ports: the meaning of their GIDs and LIDs. All functions are pure.
//
// A GID has 16 bytes, with big-endian numbers:
//
//    0  FD 5C E1 A1   the adapter's own prefix (a unique local address, RFC 4193)
//    4  tag           of the job: another job's GIDs lead nowhere
//    8  IPv4 address  the node's engine listens there; 0.0.0.0: by the node's number alone
//   12  TCP port
//   14  port          twice the node's number, plus 1 for the second port
//
// So the last byte of the second port's GID is one more than that of the first
// (hca/core/model/engine.h). A node without an IPv4 address has zeros there; other engines find it
// in the directory that each engine was given.
//
// A LID is derived from the node's number in the job: 2 * node + 1 for the first port, one more for
// the second.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "hca/core/wire/layout.h"

namespace scela::hca {

// The last unicast LID is 0xBFFF.
inline constexpr std::uint32_t kMaxNodes = 0xBFFF / 2;

struct NodeAddress {
  std::uint32_t tag = 0;  // of the job
  std::array<std::uint8_t, 4> ipv4{};
  std::uint16_t tcp_port = 0;
  std::uint32_t node = 0;
  std::uint32_t port = 1;
  // Returns whether the engine has no address to connect to, so that only the node's number is
  // known.
  bool by_number() const { return ipv4 == std::array<std::uint8_t, 4>{} || tcp_port == 0; }
  friend bool operator==(const NodeAddress&, const NodeAddress&) = default;
};

Gid gid_of(const NodeAddress& address);
// Returns std::nullopt if the GID is not one of this adapter.
std::optional<NodeAddress> address_of(const Gid& gid);

constexpr std::uint16_t first_lid_of(std::uint32_t node) {
  return static_cast<std::uint16_t>(2 * node + 1);
}
// Returns the port, 1 or 2, that a unicast address leads to on any node of this adapter. First
// ports have even GIDs and odd LIDs.
std::uint8_t port_of(const Gid& gid, bool is_global, std::uint16_t lid);
// is_group() returns whether a GID is a multicast group's: those begin with this byte (RFC 4291,
// section 2.7).
inline constexpr std::uint8_t kMulticastByte = 0xFF;
constexpr bool is_group(const Gid& gid, bool is_global = true) {
  return is_global && gid.bytes[0] == kMulticastByte;
}
// Returns std::nullopt if the LID is no unicast LID of a node.
std::optional<std::uint32_t> node_of_lid(std::uint16_t lid);

}  // namespace scela::hca
