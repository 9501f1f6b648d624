// What travels between two processes: a header of 24 bytes, and what its kind has behind it.
//
// The same on a node, where header and payload may stand apart, and between nodes, where the
// payload follows at once. One byte order and one version: whoever connects has shown to have them
// (handshake.h, the node segment's first words), so messages do not say so again.
//
// Reading runs over nothing, whatever the bytes are, and each message has one form: what is read
// and written again is the same bytes. That the source says who sent it is its receiver's to check,
// where the way it came by says more than the message.
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

#include "comm-channel/core/envelope.h"

namespace scela::channel {

static_assert(std::endian::native == std::endian::little);

enum class Kind : std::uint8_t {
  eager = 1,  // the whole message
  piece,      // Piece, and the next bytes of a message that comes in pieces
  offer,      // Offer: where a message's bytes are
  ready,      // Ready: where they go
  done,       // Done: a transfer is over
  credit,     // Credit
  // Offloaded channels (offload_sender.h): all Agreement; `open` and `opened` with a LaneEnd,
  // `left` with what is under way.
  open,
  opened,
  begin,
  recall,
  left,
  closed,
  // On a node only: a message in parts. `number` of the first is the whole message's length; the
  // others follow it with nothing that has an order in between.
  first_part,
  part,
};
// Between nodes.
inline constexpr std::uint8_t kLastKind = static_cast<std::uint8_t>(Kind::closed);
std::string_view name_of(Kind kind);

namespace flag {
inline constexpr std::uint8_t kSynchronous = 1;  // eager: to be answered with `done` when matched
inline constexpr std::uint8_t kWants = 2;        // the sender has messages that wait for credit
inline constexpr std::uint8_t kOffersOnly = 4;   // the sender keeps no more eager bytes for now
inline constexpr std::uint8_t kRoomMask = 0x18;  // what its buffer was taken by: Room
inline constexpr int kRoomShift = 3;
inline constexpr std::uint8_t kAll = 0x1f;
}  // namespace flag

struct Header {
  Kind kind = Kind::eager;
  std::uint8_t flags = 0;
  std::uint8_t credits = 0;  // given to the receiver with this message (flow.h)
  std::uint8_t acks = 0;     // of messages that came by the reserved room
  // Transfers have a number at each end. eager, offer: the sender's own; else that of whom it is
  // to.
  std::uint32_t number = 0;
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  std::int32_t source = 0;
  std::uint32_t length = 0;  // bytes behind the header
};
static_assert(sizeof(Header) == 24 && std::is_trivially_copyable_v<Header> &&
              std::has_unique_object_representations_v<Header>);

// The same as it stands in memory, put together without passing through it: a processor that has
// just stored the parts waits for them where it loads the whole.
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

// How the bytes of an offered message may go. A set, and of it the one that was chosen.
namespace way {
inline constexpr std::uint32_t kWrite = 1;   // RDMA write by the sender
inline constexpr std::uint32_t kRead = 2;    // RDMA read by the receiver
inline constexpr std::uint32_t kCopy = 4;    // on a node: copied by the receiver
inline constexpr std::uint32_t kPieces = 8;  // through the receiver's inbox or buffers
inline constexpr std::uint32_t kAll = 15;
}  // namespace way

// How a transfer ended, for both sides.
enum class Outcome : std::uint32_t {
  none,       // well
  resources,  // memory that cannot be registered, or is not there
  device,     // the adapter, or the copy, failed
  peer_ended,
  closed,  // the receiver has closed its channel, and did not receive it
  last = closed,
};

struct Offer {
  std::uint64_t length = 0;
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t ways = 0;
};

struct Ready {
  std::uint64_t length = 0;  // that the receiver takes
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t way = 0;
  std::uint32_t number = 0;  // the receiver's own
  std::uint32_t unused = 0;
};

struct Done {
  std::uint64_t bytes = 0;  // that were taken
  Outcome outcome = Outcome::none;
  std::uint32_t unused = 0;
};

struct Piece {
  std::uint64_t offset = 0;
};

// Both ways at once: what the one grants the other, returns to it, and would like to have back.
struct Credit {
  std::uint32_t granted = 0;
  std::uint32_t returned = 0;
  std::uint32_t says = 0;  // a set
  std::uint32_t unused = 0;
};

inline constexpr std::uint32_t kAsks = 1;     // return what is not used
inline constexpr std::uint32_t kAnswers = 2;  // this is what was not used

struct Agreement {
  std::uint32_t channel = 0;  // the sender of messages' number of it
  std::uint32_t life = 0;     // how often that number has been used
  std::uint64_t count = 0;    // left: of messages; open: the longest one; opened: 1, or 0 for no
  std::uint32_t first = 0;    // left: so many of the last messages follow, as Parked
  std::uint32_t unused = 0;
};

// The queue pair at one end of an offloaded channel, and where it is.
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

inline bool has_envelope(Kind kind) {
  return kind == Kind::eager || kind == Kind::offer || kind == Kind::open;
}
// Whether it has its place among its sender's messages, and waits for credit as they do.
inline bool is_in_order(Kind kind) {
  return has_envelope(kind) || kind == Kind::begin || kind == Kind::left;
}

// Whether such a header can be, with so many bytes behind it.
inline bool is_valid(const Header& header, std::size_t behind) {
  const auto kind = static_cast<std::uint8_t>(header.kind);
  return kind >= 1 && kind <= kLastKind && (header.flags & ~flag::kAll) == 0 &&
         header.length == behind && header.source >= 0 && header.tag >= 0;
}

struct Message {
  Header header;
  std::span<const std::byte> payload;  // of the bytes that were read
};

// Of a header with its payload behind it.
std::optional<Message> message_of(std::span<const std::byte> bytes);

// What a message of its kind has first; the rest is `rest`. None: that cannot be.
template <class Body>
struct Read {
  Body body;
  std::span<const std::byte> rest;
};
bool is_sound(const Offer& offer);
bool is_sound(const Ready& ready);
bool is_sound(const Done& done);
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
// The same of kinds that have nothing behind it.
template <class Body>
std::optional<Body> only_body_of(std::span<const std::byte> payload) {
  const auto read = body_of<Body>(payload);
  if (!read || !read->rest.empty()) return std::nullopt;
  return read->body;
}

// A message in an offloaded channel that may not have gone yet.
struct Parked {
  std::uint64_t length = 0;
  std::uint64_t after = 0;  // so many messages were sent outside of channels before it
  std::uint64_t turn = 0;   // and so many in all
  friend bool operator==(const Parked&, const Parked&) = default;
};
// `left`: these, oldest first. None: more or fewer than it says.
inline constexpr std::uint32_t kMostParked = 32;
struct Left {
  Agreement agreement;
  std::span<const std::byte> bytes;
  Parked parked(std::uint32_t index) const;  // below agreement.first
};
std::optional<Left> left_of(std::span<const std::byte> payload);

// `open`, and `opened` that is not a refusal, say where their end is. None: that cannot be.
struct Opening {
  Agreement agreement;
  std::optional<LaneEnd> end;  // none: refused
};
std::optional<Opening> opening_of(Kind kind, std::span<const std::byte> payload);

// The most that a message has behind its header, where it carries no bytes of the program's.
inline constexpr std::size_t kMostSaid = sizeof(Agreement) + kMostParked * sizeof(Parked);

template <class Body>
std::span<const std::byte> bytes_of(const Body& body) {
  static_assert(std::has_unique_object_representations_v<Body>);
  return std::as_bytes(std::span(&body, 1));
}

// Header, body and the rest, one after the other; header.length is set to fit. The bytes written;
// 0: they would not fit.
std::size_t write(std::span<std::byte> room, Header header, std::span<const std::byte> body,
                  std::span<const std::byte> rest = {});

}  // namespace scela::channel
