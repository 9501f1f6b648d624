#include "comm-channel/core/protocol/wire.h"

#include <limits>

namespace scela::channel {

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::eager:
      return "eager";
    case Kind::piece:
      return "piece";
    case Kind::rts:
      return "offer";
    case Kind::cts:
      return "ready";
    case Kind::fin:
      return "done";
    case Kind::credit:
      return "credit";
    case Kind::open:
      return "open";
    case Kind::opened:
      return "opened";
    case Kind::begin:
      return "begin";
    case Kind::recall:
      return "recall";
    case Kind::left:
      return "left";
    case Kind::closed:
      return "closed";
    case Kind::first_part:
      return "first part";
    case Kind::part:
      return "part";
  }
  return "unknown";
}

std::optional<Message> message_of(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Header)) return std::nullopt;
  Message message{{}, bytes.subspan(sizeof(Header))};
  std::memcpy(&message.header, bytes.data(), sizeof(Header));
  if (!is_valid(message.header, message.payload.size())) return std::nullopt;
  return message;
}

bool is_sound(const Rts& rts) {
  return rts.ways != 0 && (rts.ways & ~way::kAll) == 0 &&
         rts.length <= std::numeric_limits<std::uint64_t>::max() - rts.address;
}

bool is_sound(const Cts& cts) {
  return std::has_single_bit(cts.way) && (cts.way & ~way::kAll) == 0 && cts.unused == 0 &&
         cts.length <= std::numeric_limits<std::uint64_t>::max() - cts.address;
}

bool is_sound(const Fin& fin) {
  return fin.outcome <= Outcome::last && fin.unused == 0;
}

bool is_sound(const Credit& credit) {
  return (credit.says & ~(kAsks | kAnswers)) == 0 && credit.unused == 0;
}

bool is_sound(const Agreement& agreement) {
  return agreement.first <= kMaxParked && agreement.first <= agreement.count &&
         agreement.unused == 0;
}

// Queue pair numbers and packet numbers have 24 bits. There are five packet sizes (MTUs).
bool is_sound(const LaneEnd& end) {
  return (end.queue_pair | end.first_packet) >> 24 == 0 && end.mtu >= 1 && end.mtu <= 5 &&
         end.unused == decltype(end.unused){};
}

std::optional<Opening> opening_of(Kind kind, std::span<const std::byte> payload) {
  const auto read = body_of<Agreement>(payload);
  if (!read || read->body.first != 0) return std::nullopt;
  if (kind == Kind::opened && read->body.count == 0 && read->rest.empty())
    return Opening{read->body, std::nullopt};
  if (kind == Kind::opened && read->body.count != 1) return std::nullopt;
  const auto end = only_body_of<LaneEnd>(read->rest);
  if (!end) return std::nullopt;
  return Opening{read->body, *end};
}

Parked Left::parked(std::uint32_t index) const {
  Parked value;
  std::memcpy(&value, bytes.subspan(index * sizeof value, sizeof value).data(), sizeof value);
  return value;
}

std::optional<Left> left_of(std::span<const std::byte> payload) {
  const auto read = body_of<Agreement>(payload);
  if (!read || read->rest.size() != read->body.first * sizeof(Parked)) return std::nullopt;
  return Left{read->body, read->rest};
}

std::size_t write(std::span<std::byte> room, Header header, std::span<const std::byte> body,
                  std::span<const std::byte> rest) {
  constexpr std::size_t kMax = std::numeric_limits<std::uint32_t>::max();
  if (body.size() > kMax || rest.size() > kMax - body.size()) return 0;
  const std::size_t behind = body.size() + rest.size();
  if (room.size() < sizeof header || room.size() - sizeof header < behind) return 0;
  header.length = static_cast<std::uint32_t>(behind);
  std::byte* to = room.data();
  std::memcpy(to, &header, sizeof header);
  to += sizeof header;
  if (!body.empty()) std::memcpy(to, body.data(), body.size());
  to += body.size();
  if (!rest.empty()) std::memcpy(to, rest.data(), rest.size());
  return sizeof header + behind;
}

}  // namespace scela::channel
