#include "comm-channel/core/connect/handshake.h"

#include "common/core/bytes.h"

namespace scela::channel::connect {
namespace {

constexpr std::uint32_t kMagic = 0x6C634576;  // also the version number
constexpr std::uint32_t kQpnBits = 0x00ff'ffff;
constexpr std::uint8_t kOwn = 1, kGone = 2;  // bits of one byte
constexpr std::uint8_t kLargestMtu = 5;      // IBV_MTU_4096

void put(ByteWriter& out, const Name& name) {
  out.u64(name.job);
  out.u32(name.rank);
}

Name name_from(ByteReader& in) {
  Name name;
  name.job = in.u64();
  name.rank = in.u32();
  return name;
}

void put(ByteWriter& out, const PeerAddress& peer_address) {
  put(out, peer_address.name);
  out.u64(peer_address.life);
  out.u64(peer_address.node);
  for (const std::uint8_t byte : peer_address.address.gid)
    out.u8(byte);
  out.u16(peer_address.address.lid);
  out.u32(peer_address.address.qpn);
}

PeerAddress peer_address_from(ByteReader& in) {
  PeerAddress peer_address;
  peer_address.name = name_from(in);
  peer_address.life = in.u64();
  peer_address.node = in.u64();
  for (std::uint8_t& byte : peer_address.address.gid)
    byte = in.u8();
  peer_address.address.lid = in.u16();
  peer_address.address.qpn = in.u32();
  return peer_address;
}

// Returns true if the handshake has the fields that its kind needs and no others, so that it has
// one form.
bool is_whole(const Handshake& shake) {
  const bool has_end = shake.said == HandshakeKind::connect || shake.said == HandshakeKind::accept;
  const bool has_srq = shake.said == HandshakeKind::accept || shake.said == HandshakeKind::joined;
  const bool is_own = shake.said == HandshakeKind::connect ||
                      shake.said == HandshakeKind::confirm || shake.said == HandshakeKind::join ||
                      shake.said == HandshakeKind::give_up;
  const bool either = shake.said == HandshakeKind::close || shake.said == HandshakeKind::closed;
  if (shake.from.life == 0 || shake.number == 0) return false;
  if (!either && shake.own != is_own) return false;
  const bool ends = either && shake.mode == Mode::pairs && shake.refusal == Refusal::leaving;
  if (shake.gone && (shake.said != HandshakeKind::close || shake.mode != Mode::pairs)) return false;
  if ((shake.refusal != Refusal::none) != (shake.said == HandshakeKind::refuse) && !ends)
    return false;
  if (!has_srq && shake.srq != 0) return false;
  if (shake.said != HandshakeKind::accept && shake.voided != 0) return false;
  if (shake.from.address.qpn > kQpnBits || shake.end.qpn > kQpnBits || shake.end.psn > kQpnBits ||
      shake.end.mtu > kLargestMtu) {
    return false;
  }
  if (shake.said == HandshakeKind::join)
    return shake.end.psn == 0 && shake.end.mtu == 0 && shake.end.reads == 0;
  return has_end || shake.end == QpEnd{};
}

}  // namespace

JobSecret job_secret_of(std::span<const std::uint8_t, kJobSecretBytes> drawn) {
  JobSecret word;
  for (std::size_t i = 0; i < sizeof word.key; ++i)
    word.key = word.key << 8 | drawn[i];
  for (std::size_t i = sizeof word.key; i < drawn.size(); ++i)
    word.secret = word.secret << 8 | drawn[i];
  word.key &= 0x7fff'ffff;
  return word;
}

// The two are compared as a whole and not in parts, so the time does not depend on their values.
bool is_secret(std::uint64_t said, std::uint64_t secret) {
  return (said ^ secret) == 0;
}

std::string_view name_of(HandshakeKind said) {
  constexpr std::string_view kNames[] = {"",       "connect", "accept",  "confirm",
                                         "join",   "joined",  "refuse",  "close",
                                         "closed", "leave",   "give_up", "given_up"};
  return kNames[static_cast<int>(said)];
}

std::string encode(const Handshake& handshake) {
  ByteWriter out;
  out.u32(kMagic);
  out.u64(handshake.secret);
  out.u8(static_cast<std::uint8_t>(handshake.said));
  out.u8(static_cast<std::uint8_t>(handshake.mode));
  out.u8(static_cast<std::uint8_t>(handshake.refusal));
  out.u8(static_cast<std::uint8_t>((handshake.own ? kOwn : 0) | (handshake.gone ? kGone : 0)));
  put(out, handshake.from);
  put(out, handshake.to);
  out.u64(handshake.to_life);
  out.u32(handshake.number);
  out.u32(handshake.voided);
  out.u32(handshake.srq);
  out.u32(handshake.end.qpn);
  out.u32(handshake.end.psn);
  out.u8(handshake.end.mtu);
  out.u8(handshake.end.reads);
  return out.take();
}

std::optional<Handshake> decode(std::string_view bytes) {
  ByteReader in(bytes);
  if (bytes.size() != kHandshakeBytes || in.u32() != kMagic) return std::nullopt;
  Handshake shake;
  shake.secret = in.u64();
  const std::uint8_t said = in.u8(), mode = in.u8(), refusal = in.u8(), flags = in.u8();
  if (said < static_cast<std::uint8_t>(HandshakeKind::connect) ||
      said > static_cast<std::uint8_t>(HandshakeKind::given_up) ||
      mode > static_cast<std::uint8_t>(Mode::pairs) ||
      refusal > static_cast<std::uint8_t>(Refusal::mode) || flags > (kOwn | kGone)) {
    return std::nullopt;
  }
  shake.said = static_cast<HandshakeKind>(said);
  shake.mode = static_cast<Mode>(mode);
  shake.refusal = static_cast<Refusal>(refusal);
  shake.own = (flags & kOwn) != 0;
  shake.gone = (flags & kGone) != 0;
  shake.from = peer_address_from(in);
  shake.to = name_from(in);
  shake.to_life = in.u64();
  shake.number = in.u32();
  shake.voided = in.u32();
  shake.srq = in.u32();
  shake.end.qpn = in.u32();
  shake.end.psn = in.u32();
  shake.end.mtu = in.u8();
  shake.end.reads = in.u8();
  if (!in.done() || !is_whole(shake)) return std::nullopt;
  return shake;
}

}  // namespace scela::channel::connect
