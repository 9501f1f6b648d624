// The names of states and failures, the errors that users see, and the snapshots that the explorers
// of tests compare.
#include "comm-channel/core/connect/connection.h"
#include "common/core/bytes.h"

namespace scela::channel::connect {

std::string_view name_of(LinkState state) {
  constexpr std::string_view kNames[] = {"none",       "queued", "making",  "asking",
                                         "connecting", "ready",  "draining"};
  return kNames[static_cast<int>(state)];
}

std::string_view name_of(PeerState state) {
  constexpr std::string_view kNames[] = {"idle",    "waiting", "asking",
                                         "joining", "ready",   "draining"};
  return kNames[static_cast<int>(state)];
}

std::string_view name_of(XrcTargetState state) {
  constexpr std::string_view kNames[] = {"none", "making", "held", "leaving"};
  return kNames[static_cast<int>(state)];
}

std::string_view name_of(PairState state) {
  constexpr std::string_view kNames[] = {"none",      "queued", "making",   "asking", "connecting",
                                         "answering", "ready",  "draining", "closing"};
  return kNames[static_cast<int>(state)];
}

std::string_view name_of(Failure failure) {
  constexpr std::string_view kNames[] = {"ended",     "unreachable", "refused",
                                         "resources", "leaving",     "mode"};
  return kNames[static_cast<int>(failure)];
}

Failure failure_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::leaving:
      return Failure::leaving;
    case Refusal::mode:
      return Failure::mode;
    case Refusal::resources:
      return Failure::refused;
    case Refusal::none:
    case Refusal::gone:
      break;
  }
  return Failure::unreachable;
}

Error explain(Failure failure, const PeerAddress& peer) {
  Error error;
  error.what = "connect to rank " + std::to_string(peer.name.rank);
  switch (failure) {
    case Failure::ended:
      error.kind = ErrorKind::unreachable;
      error.why = "it has ended, or its node is lost";
      error.hint = "the launcher's messages say which rank or node failed first";
      break;
    case Failure::unreachable:
      error.kind = ErrorKind::unreachable;
      error.why = "it did not answer";
      error.hint =
          "is it stopped, or its node's network cut? ibv_rc_pingpong between the two tells";
      break;
    case Failure::refused:
      error.kind = ErrorKind::io;
      error.why = "its device gives no more queue pairs or memory";
      error.hint = "fewer connections: SCELA_CHANNEL_MAX_LINKS; more locked memory: ulimit -l";
      break;
    case Failure::resources:
      error.kind = ErrorKind::io;
      error.why = "this process's device gives no more queue pairs or memory";
      error.hint = "fewer connections: SCELA_CHANNEL_MAX_LINKS; more locked memory: ulimit -l";
      break;
    case Failure::leaving:
      error.kind = ErrorKind::unreachable;
      error.why = "its channel, or this one, is being closed";
      error.hint = "receive what was sent before either end closes its channel";
      break;
    case Failure::mode:
      error.kind = ErrorKind::protocol;
      error.why = "its device uses queue pairs in another way (XRC, or RC)";
      error.hint = "give all nodes the same kind of adapter (SCELA_CHANNEL_VERBS, _DEVICE)";
      break;
  }
  return error;
}

namespace {

void put(ByteWriter& out, const Slot& slot, Time now) {
  out.flag(slot.active);
  if (!slot.active) return;
  out.u8(static_cast<std::uint8_t>(slot.said));
  out.flag(slot.own);
  out.u8(slot.tries);
  out.u32(slot.number);
  out.u64(static_cast<std::uint64_t>((slot.at - now).count()));
}

void put(ByteWriter& out, const XrcTarget& hold, Time now) {
  out.u8(static_cast<std::uint8_t>(hold.state));
  out.flag(hold.made);
  out.u32(hold.number);
  out.u32(hold.voided);
  out.u32(hold.target);
  out.u32(hold.qp);
  put(out, hold.slot, now);
}

void put(ByteWriter& out, const Pair& pair) {
  out.u8(static_cast<std::uint8_t>(pair.state));
  out.flag(pair.mine);
  out.flag(pair.asked);
  out.flag(pair.wanted);
  out.u32(pair.number);
  out.u32(pair.voided);
  out.u32(pair.qpn);
  out.u32(pair.qp);
  out.u32(pair.far.qpn);
}

}  // namespace

void Machine::snapshot(ByteWriter& out, Time now) const {
  for (PeerId peer = 0; peer < peers_.size(); ++peer) {
    const Peer& p = peers_[peer];
    out.u64(table_.address(peer).life);
    out.u32(table_.route(peer).qp);
    out.u8(static_cast<std::uint8_t>(p.state));
    out.u8(static_cast<std::uint8_t>(p.wanted | p.ended << 1 | p.leaving << 2 | p.registered << 3 |
                                     p.member << 4));
    out.u32(p.number);
    out.u32(p.srq);
    put(out, p.out, now);
    put(out, p.hold, now);
    put(out, p.pair);
  }
  for (const Link& link : links_) {
    out.u8(static_cast<std::uint8_t>(link.state));
    out.u32(link.qp);
    out.u32(link.number);
    out.u32(link.direct);
    out.u32(link.prefer);
    out.u32(link.target);
  }
  // Only the order of turns and uses matters, not their values.
  for (const Link& link : links_) {
    for (const Link& other : links_)
      out.flag(link.turn < other.turn), out.flag(link.used < other.used);
  }
  for (const Peer& p : peers_) {
    for (const Peer& other : peers_)
      out.flag(p.pair.turn < other.pair.turn), out.flag(p.pair.used < other.pair.used);
  }
  out.u32(numbers_);
  out.flag(leaving_);
  out.flag(left_);
}

}  // namespace scela::channel::connect
