#include "comm-channel/net/port/port_pairs.h"

#include <chrono>
#include <cstring>
#include <utility>

namespace scela::channel {

namespace action = connect::action;
namespace event = connect::event;
using connect::Event;
using connect::QpId;
using connect::UdAddress;

namespace {

std::uint32_t first_packet() {
  return static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count() >>
                                    4) &
         0xffffff;
}

verbs::Target target_of(const UdAddress& at, const connect::QpEnd& end) {
  verbs::Target target;
  target.lid = at.lid;
  std::memcpy(target.gid.raw, at.gid.data(), sizeof target.gid.raw);
  target.mtu = static_cast<ibv_mtu>(end.mtu);
  target.queue_pair = end.qpn;
  target.first_packet = end.psn;
  return target;
}

}  // namespace

std::uint8_t PortPairs::reads() const {
  return static_cast<std::uint8_t>(
      std::clamp<std::uint32_t>(parts_.device.capability.limits.reads, 1, 16));
}

Event PortPairs::keep(QpId id, Result<verbs::Qp> qp, std::uint32_t first_packet,
                      const Result<void>& ready) {
  if (!qp || !ready) {
    why_no_pair_ = (qp ? ready.error() : qp.error()).text();
    return event::QpFailed{id, false};
  }
  if (pairs_.size() <= id) pairs_.resize(id + 1);
  pairs_[id] = std::make_unique<PortPair>();
  pairs_[id]->qp = std::move(*qp);
  pairs_[id]->first_packet = first_packet;
  used_ = used_ || pairs_[id]->qp->qp_type == IBV_QPT_XRC_RECV;
  return event::QpMade{id, pairs_[id]->qp->qp_num, first_packet};
}

Event PortPairs::create(const action::CreateSendQp& action) {
  const verbs::Symbols& symbols = *parts_.device.symbols;
  verbs::QueueSizes sizes;
  sizes.sends = kPairDepth;
  auto qp = parts_.device.capability.mode == verbs::Mode::xrc
                ? verbs::create_xrc_send_qp(symbols, parts_.pd, parts_.sends, sizes)
                : verbs::create_qp(symbols, parts_.pd, IBV_QPT_RC, parts_.sends, parts_.receives,
                                   parts_.srq, sizes);
  Result<void> ready;
  if (qp)
    ready = verbs::to_init(symbols, *qp, port(), IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  return keep(action.qp, std::move(qp), first_packet(), ready);
}

Event PortPairs::create(const action::CreateReceiveQp& action) {
  const verbs::Symbols& symbols = *parts_.device.symbols;
  auto qp = verbs::create_xrc_recv_qp(symbols, parts_.device.context, parts_.xrcd);
  Result<void> ready;
  if (qp)
    ready = verbs::to_init(symbols, *qp, port(), IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  if (qp && ready)
    ready = verbs::to_receive(symbols, *qp, port(), target_of(action.at, action.end), reads());
  return keep(action.qp, std::move(qp), first_packet(), ready);
}

Event PortPairs::open(const action::OpenReceiveQp& action) {
  auto qp = verbs::open_xrc_recv_qp(*parts_.device.symbols, parts_.device.context, parts_.xrcd,
                                    action.number);
  const bool is_gone = !qp;
  Event answer = keep(action.qp, std::move(qp), 0, {});
  if (is_gone) answer = event::QpFailed{action.qp, true};
  return answer;
}

// A new pair of the same two processes must wait, since its messages are behind those that may
// still come.
std::optional<Event> PortPairs::connect(const action::ConnectQp& action) {
  if (!is_receiving(action.at)) return connect_now(action);
  waiting_.push_back(action);
  return std::nullopt;
}

Event PortPairs::connect_now(const action::ConnectQp& action) {
  const verbs::Symbols& symbols = *parts_.device.symbols;
  if (this->pair(action.qp) == nullptr) return event::QpFailed{action.qp, false};
  PortPair& pair = *pairs_[action.qp];
  const std::uint8_t reads = std::min(action.end.reads, this->reads());
  Result<void> done =
      verbs::to_receive(symbols, pair.qp, port(), target_of(action.at, action.end), reads);
  if (done) pair.peer = action.at;
  if (done) done = verbs::to_send(symbols, pair.qp, pair.first_packet, reads, verbs::Patience{});
  used_ = used_ || done;
  if (done) return event::QpConnected{action.qp};
  why_no_pair_ = done.error().text();
  return event::QpFailed{action.qp, false};
}

std::optional<Event> PortPairs::connect_waiting() {
  const auto next = std::ranges::find_if(
      waiting_, [this](const action::ConnectQp& one) { return !is_receiving(one.at); });
  if (next == waiting_.end()) return std::nullopt;
  const action::ConnectQp action = *next;
  waiting_.erase(next);
  return connect_now(action);
}

// Requests under way come back before the pair is destroyed. With RC, a receive that is complete
// and not polled would be lost with it, though its sender knows that the message has arrived.
void PortPairs::close(QpId id, connect::Time now) {
  std::erase_if(waiting_, [id](const auto& one) { return one.qp == id; });
  if (id >= pairs_.size()) return;  // it could not be made
  std::unique_ptr<PortPair> pair = std::move(pairs_[id]);
  if (!pair || (pair->under_way == 0 && !parts_.by_rank())) return;
  if (!pair->broken) static_cast<void>(verbs::to_error(*parts_.device.symbols, pair->qp));
  pair->broken = true;
  pair->closed = now;
  closed_.push_back(std::move(pair));
}

void PortPairs::abandon() {
  waiting_.clear();
  closed_.clear();
  pairs_.clear();
}

// In the error state nothing more arrives, but a device may show what has arrived at any time until
// it reports the last receive. That report is the affiliated asynchronous event Last WQE Reached of
// the InfiniBand specification.
void PortPairs::bury(connect::Time now) {
  for (const auto& one : closed_) {
    if (one->complete || !one->peer) continue;
    if (one->last_reported || now - one->closed >= kLastPatience)
      one->complete = parts_.looks.mark();
  }
  std::erase_if(closed_,
                [this](const auto& one) { return one->under_way == 0 && is_received(*one); });
}

// With XRC, completions belong to the shared receive queue, and stay.
bool PortPairs::is_received(const PortPair& pair) const {
  return !parts_.by_rank() || !pair.peer ||
         (pair.complete && parts_.looks.has_passed(*pair.complete));
}

bool PortPairs::is_receiving(const UdAddress& from) const {
  return std::ranges::any_of(
      closed_, [&](const auto& one) { return one->peer == from && !is_received(*one); });
}

void PortPairs::note_last_receive(const ibv_qp* qp) {
  for (const auto* const pairs : {&pairs_, &closed_})
    for (const auto& pair : *pairs)
      if (pair && pair->qp.get() == qp) pair->last_reported = true;
}

}  // namespace scela::channel
