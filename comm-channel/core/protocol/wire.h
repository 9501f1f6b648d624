// The messages between two processes: a header of 24 bytes, and a payload that depends on the
// message's kind. Messenger and the networks use them (comm-channel/messenger/messenger.h,
// comm-channel/engine/network.h).
//
// On a node header and payload may stand apart; between nodes the payload follows the header at
// once. The format is the same. There is one byte order and one version. Both are checked when
// processes connect (comm-channel/core/connect/handshake.h, the first words of the node segment),
// so messages do not carry them.
//
// Parsing never reads beyond the given bytes, and each message has one form: a message that is read
// and written again has the same bytes. The receiver must check `source` against the connection,
// which is more reliable than the message. The functions are pure and safe from any thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "comm-channel/core/match/envelope.h"

namespace scela::channel {

static_assert(std::endian::native == std::endian::little);

enum class Kind : std::uint8_t {
  eager = 1,  // the whole message
  piece,      // Piece, and the next bytes of a message
  rts,        // Rts: where a message's bytes are
  cts,        // Cts: where the bytes go
  fin,        // Fin: a transfer is over
  credit,     // Credit
  // Offloaded channels (offload_sender.h). All carry an Agreement. `open` and `opened` also carry a
  // LaneEnd, and `left` carries the messages that are under way.
  open,
  opened,
  begin,
  recall,
  left,
  closed,
  // A message in parts, on a node only. `number` of the first part is the length of the whole
  // message in bytes. The other parts follow it; no other message that is_in_order() comes in
  // between.
  first_part,
  part,
};
// The last kind that is used between nodes.
inline constexpr std::uint8_t kLastKind = static_cast<std::uint8_t>(Kind::closed);
std::string_view name_of(Kind kind);

namespace flag {
inline constexpr std::uint8_t kSynchronous = 1;  // eager: answer `fin` when matched
inline constexpr std::uint8_t kWants = 2;        // the sender's messages wait for credit
inline constexpr std::uint8_t kOffersOnly = 4;   // the sender keeps no eager bytes now
inline constexpr std::uint8_t kRoomMask = 0x18;  // the Room that its buffer was taken by
inline constexpr int kRoomShift = 3;
inline constexpr std::uint8_t kAll = 0x1f;
}  // namespace flag

struct Header {
  Kind kind = Kind::eager;
  std::uint8_t flags = 0;
  std::uint8_t credits = 0;  // credits granted to the receiver
  std::uint8_t acks = 0;     // 1: acknowledges a reserved message (flow.h)
  // The number of the transfer; each end has its own. In `eager` and `rts` it is the sender's
  // number, in other kinds that of the addressee.
  std::uint32_t number = 0;
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  std::int32_t source = 0;   // rank of the sender
  std::uint32_t length = 0;  // bytes behind the header
};
static_assert(sizeof(Header) == 24 && std::is_trivially_copyable_v<Header> &&
              std::has_unique_object_representations_v<Header>);

// Returns the header as it stands in memory, built from its fields in registers. A processor that
// has just stored the parts would wait for them if it loaded the whole.
inline std::array<std::uint64_t, 3> words_of(const Header& header) {
  const auto both = [](std::uint32_t low, std::uint32_t high) {
    return low | std::uint64_t{high} << 32;
  };
  const std::uint32_t first =
      static_cast<std::uint32_t>(header.kind) | std::uint32_t{header.flags} << 8 |
      std::uint32_t{header.credits} << 16 | std::uint32_t{header.acks} << 24;
  return {both(first, header.number), both(header.context, static_cast<std::uint32_t>(header.tag)),
          both(static_cast<std::uint32_t>(header.source), header.length)};
}

// The ways in which the bytes of an offered message may go: a bit set, or the one that was chosen.
namespace way {
inline constexpr std::uint32_t kWrite = 1;   // RDMA write by the sender
inline constexpr std::uint32_t kRead = 2;    // RDMA read by the receiver
inline constexpr std::uint32_t kCopy = 4;    // on a node: copied by the receiver
inline constexpr std::uint32_t kPieces = 8;  // through the receiver's inbox or buffers
inline constexpr std::uint32_t kAll = 15;
}  // namespace way

// The result of a transfer, for both sides.
enum class Outcome : std::uint32_t {
  none,       // no error
  resources,  // memory is not there or registrable
  device,     // the adapter, or the copy, failed
  peer_ended,
  closed,  // the receiver closed before it received
  last = closed,
};

// The bodies of messages about a transfer. Addresses and keys are those of registered memory, or of
// a process of the node. `ways` and `way` are bits of namespace way.
struct Rts {
  std::uint64_t length = 0;
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t ways = 0;
};

struct Cts {
  std::uint64_t length = 0;  // bytes that the receiver takes
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t way = 0;
  std::uint32_t number = 0;  // the receiver's number of the transfer
  std::uint32_t unused = 0;
};

struct Fin {
  std::uint64_t bytes = 0;  // bytes that were taken
  Outcome outcome = Outcome::none;
  std::uint32_t unused = 0;
};

// The body of a piece: the offset of its bytes in the message.
struct Piece {
  std::uint64_t offset = 0;
};

// The body of a credit message, for both directions: credits granted to the peer, credits returned
// to it, and whether it is asked to return some.
struct Credit {
  std::uint32_t granted = 0;
  std::uint32_t returned = 0;
  std::uint32_t says = 0;  // a bit set of kAsks and kAnswers
  std::uint32_t unused = 0;
};

inline constexpr std::uint32_t kAsks = 1;     // the peer is to return unused credits
inline constexpr std::uint32_t kAnswers = 2;  // `returned` answers kAsks

// The body of messages about an offloaded channel: a queue pair of one tag and peer on which large
// messages move without the program.
struct Agreement {
  std::uint32_t channel = 0;  // the channel's number at its sender
  std::uint32_t life = 0;     // tells channels of one number apart
  std::uint64_t count = 0;    // left: messages; open: limit; opened: 0/1
  std::uint32_t first = 0;    // left: how many Parked follow
  std::uint32_t unused = 0;
};

// The address of the queue pair at one end of an offloaded channel.
struct LaneEnd {
  std::array<std::uint8_t, 16> gid{};
  std::uint32_t queue_pair = 0;
  std::uint32_t first_packet = 0;
  std::uint16_t lid = 0;
  std::uint8_t mtu = 1;  // enum ibv_mtu
  std::array<std::uint8_t, 5> unused{};
  friend bool operator==(const LaneEnd&, const LaneEnd&) = default;
};
static_assert(sizeof(LaneEnd) == 32);

// Returns whether the context, tag and source of the header are those by which a message, or the
// messages of a channel that is opened, are matched.
inline bool has_envelope(Kind kind) {
  return kind == Kind::eager || kind == Kind::rts || kind == Kind::open;
}
// Returns true if a message of this kind must arrive in the order in which its sender sent it, and
// takes a credit (flow.h). Returns false if it may overtake others. Returns false also for the
// parts of a message: they go on a node only, where the queue keeps the order.
inline bool is_in_order(Kind kind) {
  return has_envelope(kind) || kind == Kind::begin || kind == Kind::left;
}

// Returns true if the header is valid between nodes, with `behind` bytes behind it.
inline bool is_valid(const Header& header, std::size_t behind) {
  const auto kind = static_cast<std::uint8_t>(header.kind);
  return kind >= 1 && kind <= kLastKind && (header.flags & ~flag::kAll) == 0 &&
         header.length == behind && header.source >= 0 && header.tag >= 0;
}

struct Message {
  Header header;
  std::span<const std::byte> payload;  // refers to the bytes that were read
};

// Parses a header with its payload behind it. Returns std::nullopt if the bytes are no valid
// message.
std::optional<Message> message_of(std::span<const std::byte> bytes);

// The body that a payload begins with, and the rest. body_of() returns std::nullopt if the payload
// is too short or the body is not valid.
template <class Body>
struct Read {
  Body body;
  std::span<const std::byte> rest;
};
// These return true if all fields have valid values. body_of() calls them.
bool is_sound(const Rts& rts);
bool is_sound(const Cts& cts);
bool is_sound(const Fin& fin);
inline bool is_sound(const Piece&) {
  return true;
}
bool is_sound(const Credit& credit);
bool is_sound(const Agreement& agreement);
bool is_sound(const LaneEnd& end);

template <class Body>
std::optional<Read<Body>> body_of(std::span<const std::byte> payload) {
  static_assert(std::has_unique_object_representations_v<Body> &&
                std::is_trivially_copyable_v<Body>);
  if (payload.size() < sizeof(Body)) return std::nullopt;
  Read<Body> read{{}, payload.subspan(sizeof(Body))};
  std::memcpy(&read.body, payload.data(), sizeof(Body));
  if (!is_sound(read.body)) return std::nullopt;
  return read;
}
// Parses a payload that has nothing behind its body.
template <class Body>
std::optional<Body> only_body_of(std::span<const std::byte> payload) {
  const auto read = body_of<Body>(payload);
  if (!read || !read->rest.empty()) return std::nullopt;
  return read->body;
}

// A message in an offloaded channel that may not have gone yet.
struct Parked {
  std::uint64_t length = 0;
  std::uint64_t after = 0;  // earlier messages outside of channels
  std::uint64_t turn = 0;   // its place among all messages, from 1
  friend bool operator==(const Parked&, const Parked&) = default;
};
// The payload of `left`: the parked messages, oldest first. left_of() returns std::nullopt if there
// are more or fewer than the agreement says.
inline constexpr std::uint32_t kMaxParked = 32;
struct Left {
  Agreement agreement;
  std::span<const std::byte> bytes;
  Parked parked(std::uint32_t index) const;  // index < agreement.first
};
std::optional<Left> left_of(std::span<const std::byte> payload);

// The payload of `open` and `opened`; both carry the sender's end, except an `opened` that refuses.
// opening_of() returns std::nullopt if the payload is not valid.
struct Opening {
  Agreement agreement;
  std::optional<LaneEnd> end;  // std::nullopt: refused
};
std::optional<Opening> opening_of(Kind kind, std::span<const std::byte> payload);

// The most bytes behind the header of a message that carries no bytes of the program's.
inline constexpr std::size_t kMaxSaid = sizeof(Agreement) + kMaxParked * sizeof(Parked);

// Returns the bytes of a body as they are sent. They are valid as long as `body` is.
template <class Body>
std::span<const std::byte> bytes_of(const Body& body) {
  static_assert(std::has_unique_object_representations_v<Body>);
  return std::as_bytes(std::span(&body, 1));
}

// Writes the header, the body and the rest, one after the other, and sets header.length to fit.
// Returns the number of bytes written, or 0 if they do not fit into `room`.
std::size_t write(std::span<std::byte> room, Header header, std::span<const std::byte> body,
                  std::span<const std::byte> rest = {});

}  // namespace scela::channel
