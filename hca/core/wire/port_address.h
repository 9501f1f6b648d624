// The addresses of a node's two ports: the meaning of their GIDs and LIDs. The interpreter, the
// engine's connections to other nodes and the library use it; all functions are pure.
//
// A GID has 16 bytes, with big-endian numbers:
//
//    0  FD 5C E1 A1   the adapter's own prefix (a unique local address, RFC 4193)
//    4  tag           of the job: another job's GIDs lead nowhere
//    8  IPv4 address  the node's engine listens there; 0.0.0.0: by the node's number alone
//   12  TCP port      of the node's engine, at that address
//   14  node and port twice the node's number, plus 1 for the second port
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

#include "hca/core/wire/shared_layout.h"

namespace scela::hca {

// The greatest number of nodes in a job; they are numbered from 0. Each node has two LIDs, and the
// last unicast LID is 0xBFFF.
inline constexpr std::uint32_t kMaxNodes = 0xBFFF / 2;

// The fields of a port's GID.
struct NodeAddress {
  std::uint32_t tag = 0;  // of the job
  // The address and port where the node's engine accepts connections.
  std::array<std::uint8_t, 4> ipv4{};
  std::uint16_t tcp_port = 0;
  std::uint32_t node = 0;  // number in the job
  std::uint32_t port = 1;  // 1 or 2
  // Returns true if the GID has no IPv4 address or no TCP port. Other engines must then find out
  // from the node's number where it listens.
  bool by_number() const { return ipv4 == std::array<std::uint8_t, 4>{} || tcp_port == 0; }
  friend bool operator==(const NodeAddress&, const NodeAddress&) = default;
};

// Returns the GID of a port with these fields.
Gid gid_of(const NodeAddress& address);
// Returns the fields of a GID. Returns std::nullopt if it does not begin with the adapter's prefix,
// or if its node number is not below kMaxNodes. The tag is not checked.
std::optional<NodeAddress> address_of(const Gid& gid);

// Returns the LID of the node's first port. `node` is less than kMaxNodes.
constexpr std::uint16_t first_lid_of(std::uint32_t node) {
  return static_cast<std::uint16_t>(2 * node + 1);
}
// Returns the port, 1 or 2, that a unicast address leads to on any node of this adapter. If
// `is_global` is true, the GID is the address, otherwise the LID. First ports have even GIDs and
// odd LIDs.
std::uint8_t port_of(const Gid& gid, bool is_global, std::uint16_t lid);
// The first byte of a multicast GID (RFC 4291, section 2.7).
inline constexpr std::uint8_t kMulticastByte = 0xFF;
// Returns true if the GID is that of a multicast group. If `is_global` is false, the caller's
// address is a LID and the GID has no meaning: the result is then false.
constexpr bool is_group(const Gid& gid, bool is_global = true) {
  return is_global && gid.bytes[0] == kMulticastByte;
}
// Returns the number of the node that has this LID. Returns std::nullopt if the LID is no unicast
// LID of a node.
std::optional<std::uint32_t> node_of_lid(std::uint16_t lid);

}  // namespace scela::hca
