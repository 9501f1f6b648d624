// What processes say to each other by datagrams so that connections come to be, and end.
//
// A request has a number, which its sender never uses again; an answer repeats it. So a datagram
// that is late, or comes twice, is known to be. A connection is called by the number of the request
// that made it.
//
//   request            answers           said by
//   connect            accept, refuse    who wants to send to a node (XRC), or to a process (RC)
//   accept             confirm           RC only: who has accepted may send when it is confirmed
//   join               joined, refuse    XRC: who has a connection to the node, to one more there
//   close              closed            who wants no more by it, or holds it no longer
//   leave              close             XRC: a process of the node, which is about to end
//   give_up            given_up          who lives, and whose device has failed for that process
//
// Every datagram has one length, and every value one form, and the job's secret in it: without it
// nothing that it says is believed. Values only.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace scela::channel::connect {

// How queue pairs are used. All processes of a job have the same.
enum class Mode : std::uint8_t {
  shared,  // XRC: all who are reached through a receive queue pair hold it (ibv_open_qp)
  owned,   // XRC where the device has no ibv_open_qp: it ends with the process that made it
  pairs,   // RC: a queue pair for each two processes, of each of them
};

// A process. Those of another job, spawned or not, may have the same rank.
struct Name {
  std::uint64_t job = 0;
  std::uint32_t rank = 0;
  auto operator<=>(const Name&) const = default;
};

// A node, called the same by every job that runs there.
using NodeKey = std::uint64_t;

// A port, and a queue pair for datagrams there.
struct UdAddress {
  std::array<std::uint8_t, 16> gid{};
  std::uint16_t lid = 0;
  std::uint32_t qpn = 0;
  friend bool operator==(const UdAddress&, const UdAddress&) = default;
};

// What others need to know of a process before they can say anything to it.
struct Card {
  Name name;
  std::uint64_t life = 0;  // grows from one process of this name to the next; 0: not known
  NodeKey node = 0;
  UdAddress address;
  friend bool operator==(const Card&, const Card&) = default;
};

// The far end of a connection; the port is that of the card.
struct QpEnd {
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  std::uint8_t mtu = 0;    // as enum ibv_mtu; both ends use the smaller
  std::uint8_t reads = 0;  // RDMA reads and atomics that it answers at a time
  friend bool operator==(const QpEnd&, const QpEnd&) = default;
};

// What the processes of a job have in common, and nobody else: without the key a device gives a
// datagram to nobody, and without the secret nobody hears it. Of bytes that somebody has drawn.
struct Watchword {
  std::uint32_t key = 0;  // the Q_Key of the queue pairs for datagrams
  std::uint64_t secret = 0;
};
inline constexpr std::size_t kWatchwordBytes = 12;
// Keys with the highest bit are the system's: devices send another in their place, or refuse them.
Watchword watchword_of(std::span<const std::uint8_t, kWatchwordBytes> drawn);
// Takes as long wherever the two differ.
bool is_secret(std::uint64_t said, std::uint64_t secret);

enum class Said : std::uint8_t {
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
std::string_view name_of(Said said);

enum class Refusal : std::uint8_t {
  none,
  gone,       // the queue pair or the request is not there any more
  resources,  // the other's device gives no more
  leaving,    // the other is about to end
  mode,       // the other uses queue pairs in another way
};

struct Handshake {
  std::uint64_t secret = 0;
  Said said = Said::connect;
  Mode mode = Mode::shared;
  Refusal refusal = Refusal::none;  // refuse; with RC also: leaving of close and closed
  bool own = false;                 // the number is the sender's, not the receiver's
  bool gone = false;                // close with RC: the sender's queue pair is there no more
  Card from;                        // the sender
  Name to;                          // the receiver
  std::uint64_t to_life = 0;        // 0: whichever
  std::uint32_t number = 0;
  std::uint32_t voided = 0;  // accept: the sender's requests to the receiver up to this are void
  std::uint32_t srq = 0;     // accept, joined: where the sender receives
  QpEnd end;                 // connect, accept: the sender's; join: the node's, by its number
  friend bool operator==(const Handshake&, const Handshake&) = default;
};

inline constexpr std::size_t kHandshakeBytes = 108;

std::string encode(const Handshake& handshake);
// None: not one of ours, of another version, or not in its only form.
std::optional<Handshake> decode(std::string_view bytes);

}  // namespace scela::channel::connect
