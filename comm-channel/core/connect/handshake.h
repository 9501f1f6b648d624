// The datagrams by which processes make and end connections. Machine (connection_machine.h) and
// GiveUps (give_ups.h) use them.
//
// A request has a number, which its sender never uses again, and an answer repeats it. So a late or
// duplicate datagram is recognized. A connection is named by the number of the request that made
// it.
//
//   request    answers         sent by
//   connect    accept, refuse  The process that wants to send to a node (XRC), or a process (RC).
//   accept     confirm         RC: the process that accepts. It may send when it is confirmed.
//   join       joined, refuse  XRC: a process with a connection to the node, to another peer there.
//   close      closed          A process that wants no more of the connection, or has let it go.
//   leave      close           XRC: a process of the node, which is about to end.
//   give_up    given_up        A process that lives, but its device has failed for that peer.
//
// Every datagram has the same length, and every value has one form. Each datagram carries the job's
// secret; without it nothing in the datagram is believed. The types are plain values.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace scela::channel::connect {

// The way in which queue pairs are used. All processes of a job use the same mode. With `owned` a
// receive queue pair ends with the process that made it.
enum class Mode : std::uint8_t {
  shared,  // XRC: all receivers hold it (ibv_open_qp)
  owned,   // XRC without ibv_open_qp: its maker's
  pairs,   // RC: one QP at each end for two processes
};

// The name of a process. Processes of another job, spawned or not, may have the same rank.
struct Name {
  std::uint64_t job = 0;
  std::uint32_t rank = 0;
  auto operator<=>(const Name&) const = default;
};

// The key of a node. All jobs that run there use the same key.
using NodeKey = std::uint64_t;

// The address of a port and of its queue pair for datagrams (UD).
struct UdAddress {
  std::array<std::uint8_t, 16> gid{};
  std::uint16_t lid = 0;
  std::uint32_t qpn = 0;
  friend bool operator==(const UdAddress&, const UdAddress&) = default;
};

// The data that other processes need before they can send a datagram to a process.
struct PeerAddress {
  Name name;
  std::uint64_t life = 0;  // grows with each restart; 0: not known
  NodeKey node = 0;
  UdAddress address;
  friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

// One end of a connection. Its port is that of the process's peer address.
struct QpEnd {
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  std::uint8_t mtu = 0;    // enum ibv_mtu; both use the smaller
  std::uint8_t reads = 0;  // RDMA reads and atomics at a time
  friend bool operator==(const QpEnd&, const QpEnd&) = default;
};

// The shared secret of a job's processes, made of random bytes. Without the key a device delivers a
// datagram to no queue pair. Without the secret no process accepts it.
struct JobSecret {
  std::uint32_t key = 0;  // the Q_Key of the UD queue pairs
  std::uint64_t secret = 0;
};
inline constexpr std::size_t kJobSecretBytes = 12;
// Makes a job secret of random bytes. The key's highest bit is cleared, because such keys are the
// system's: devices send another key in their place, or refuse them.
JobSecret job_secret_of(std::span<const std::uint8_t, kJobSecretBytes> drawn);
// Returns true if the two are equal. The comparison takes constant time.
bool is_secret(std::uint64_t said, std::uint64_t secret);

// The table at the beginning of this file explains the kinds.
enum class HandshakeKind : std::uint8_t {
  connect = 1,
  accept,
  confirm,
  join,
  joined,
  refuse,
  close,
  closed,
  leave,
  give_up,
  given_up,
};
std::string_view name_of(HandshakeKind said);

// The reason of a datagram `refuse`.
enum class Refusal : std::uint8_t {
  none,       // no refusal
  gone,       // the QP or the request no longer exists
  resources,  // the refuser's device has no more
  leaving,    // the refuser is about to end
  mode,       // the refuser uses another mode
};

// One datagram, decoded. Members that its kind does not use are 0.
struct Handshake {
  std::uint64_t secret = 0;
  HandshakeKind said = HandshakeKind::connect;
  Mode mode = Mode::shared;
  Refusal refusal = Refusal::none;  // refuse; RC close/closed: none or leaving
  bool own = false;                 // the number is the sender's own
  bool gone = false;                // RC close: the sender's QP is gone
  PeerAddress from;                 // the sender
  Name to;                          // the receiver
  std::uint64_t to_life = 0;        // 0: any life
  std::uint32_t number = 0;
  std::uint32_t voided = 0;  // accept: sender's requests to here: void
  std::uint32_t srq = 0;     // accept, joined: the sender's SRQ
  QpEnd end;                 // connect, accept: sender's; join: node's
  friend bool operator==(const Handshake&, const Handshake&) = default;
};

inline constexpr std::size_t kHandshakeBytes = 108;

// Returns the kHandshakeBytes bytes of the datagram.
std::string encode(const Handshake& handshake);
// Returns std::nullopt if the bytes are not a handshake, are of another version, or are not in the
// one valid form.
std::optional<Handshake> decode(std::string_view bytes);

}  // namespace scela::channel::connect
