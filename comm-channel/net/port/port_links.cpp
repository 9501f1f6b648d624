// The queue pairs of one port, and the datagrams that establish them.
#include "comm-channel/net/port/port_links.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <string>

#include "common/core/overloaded.h"
#include "common/core/text.h"

namespace scela::channel {

namespace action = connect::action;
namespace event = connect::event;
using connect::Action;
using connect::Event;
using connect::kHandshakeBytes;
using connect::Mode;
using connect::PeerAddress;
using connect::QpEnd;
using connect::QpId;
using connect::UdAddress;

namespace {

constexpr std::size_t kDatagrams = 64;
constexpr std::size_t kGrh = 40;  // before each datagram that comes
// The time that a closed pair waits for IBV_EVENT_QP_LAST_WQE_REACHED: not every device reports it.
// A device that does may be a process that waits for a processor.
constexpr connect::Time kLastPatience = std::chrono::milliseconds(200);
// The time between two checks for such an event if nothing else happens.
constexpr connect::Time kBetweenEvents = std::chrono::milliseconds(1);
// If links are limited, a request is sent this many times. So a peer that does not answer does not
// keep others from their links.
constexpr std::uint8_t kTriesOfFew = 5;
// The repeats of a request come after ever longer waits. Together they outlast a queue pair that is
// connected late.
static_assert(connect::Options{}.first_wait * ((1 << kTriesOfFew) - 1) > kLastPatience);

std::uint32_t first_packet() {
  return static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count() >>
                                    4) &
         0xffffff;
}

verbs::Target target_of(const UdAddress& at, const QpEnd& end) {
  verbs::Target target;
  target.lid = at.lid;
  std::memcpy(target.gid.raw, at.gid.data(), sizeof target.gid.raw);
  target.mtu = static_cast<ibv_mtu>(end.mtu);
  target.queue_pair = end.qpn;
  target.first_packet = end.psn;
  return target;
}

}  // namespace

Result<void> PortLinks::make(const PeerAddress& self, const Job& job) {
  job_ = job;
  const verbs::Symbols& symbols = *parts_.device.symbols;
  auto cq = verbs::create_cq(symbols, parts_.device.context, 2 * kDatagrams, parts_.events);
  if (!cq) return fail(std::move(cq.error()));
  datagram_cq_ = std::move(*cq);
  verbs::QueueSizes sizes;
  sizes.sends = sizes.receives = kDatagrams;
  auto qp = verbs::create_qp(symbols, parts_.pd, IBV_QPT_UD, datagram_cq_, datagram_cq_, {}, sizes);
  if (!qp) return fail(std::move(qp.error()));
  datagrams_ = std::move(*qp);
  if (auto ready = verbs::ready_datagrams(symbols, datagrams_, port(), job_.word.key); !ready)
    return ready;
  out_.emplace(symbols, parts_.pd, kHandshakeBytes, IBV_ACCESS_LOCAL_WRITE);
  in_.emplace(symbols, parts_.pd, kGrh + kHandshakeBytes, IBV_ACCESS_LOCAL_WRITE);
  for (Buffers* const buffers : {&*out_, &*in_})
    if (auto added = buffers->add(kDatagrams); !added) return added;
  while (std::byte* const buffer = in_->take())
    if (auto posted = post(buffer); !posted) return posted;

  self_ = self;
  std::memcpy(self_.address.gid.data(), port().gid.raw, self_.address.gid.size());
  self_.address.lid = port().lid;
  self_.address.qpn = datagrams_->qp_num;
  auto options = this->options();
  if (!options) return fail(std::move(options.error()));
  machine_.emplace(self_, *options);
  give_ups_ = connect::GiveUps(self_, {.mode = options->mode, .secret = options->secret});
  return {};
}

Result<connect::Options> PortLinks::options() const {
  const verbs::Capability& capability = parts_.device.capability;
  connect::Options options;
  options.mode = capability.mode == verbs::Mode::rc ? Mode::pairs
                 : capability.open_qp               ? Mode::shared
                                                    : Mode::owned;
  const int error =
      options.mode == Mode::pairs ? 0 : ::ibv_get_srq_num(parts_.srq.get(), &options.srq);
  if (error != 0)
    return fail(verbs::verbs_error("read the number of a shared receive queue",
                                   parts_.device.context.get(), error));
  options.secret = job_.word.secret;
  options.ranks = job_.ranks;
  options.mtu = static_cast<std::uint8_t>(port().mtu);
  options.max_links = static_cast<std::uint32_t>(
      std::min<std::size_t>(job_.max_links, std::numeric_limits<std::uint32_t>::max()));
  if (options.max_links != 0) options.tries = kTriesOfFew;
  options.reads = reads();
  return options;
}

std::uint8_t PortLinks::reads() const {
  return static_cast<std::uint8_t>(
      std::clamp<std::uint32_t>(parts_.device.capability.limits.reads, 1, 16));
}

// ---- actions of the machine ----

void PortLinks::tell(const Event& event) {
  machine_->handle(event, user_.now());
  user_.changed();
  auto& actions = machine_->actions();
  actions_.insert(actions_.end(), std::make_move_iterator(actions.begin()),
                  std::make_move_iterator(actions.end()));
  actions.clear();
  carry_out();
}

// Replies to the machine cause further actions, which are carried out after those already there.
void PortLinks::carry_out() {
  if (carrying_out_) return;
  carrying_out_ = true;
  while (!actions_.empty()) {
    const Action action = std::move(actions_.front());
    actions_.pop_front();
    carry_out(action);
  }
  carrying_out_ = false;
}

void PortLinks::carry_out(const Action& action) {
  std::visit(Overloaded{
                 [&](const action::SendDatagram& one) { send(one); },
                 [&](const action::CreateSendQp& one) { create(one); },
                 [&](const action::ConnectQp& one) {
                   if (is_receiving(one.at))
                     late_.push_back(one);
                   else
                     connect_qp(one);
                 },
                 [&](const action::CreateReceiveQp& one) { create(one); },
                 [&](const action::OpenReceiveQp& one) { open(one); },
                 [&](const action::CloseQp& one) { close(one.qp); },
                 [](const action::Ready&) {},  // the user tries again at each poll
                 [&](const action::Drain& one) { user_.drain(index_, one.peer); },
                 [&](const action::Lost& one) { user_.posted_is_lost(index_, one.peer); },
                 [&](const action::Failed& one) { user_.not_connected(index_, one.peer, one.why); },
                 [](const action::WakeMe&) {},  // next_wake() is looked at
                 [&](const action::Left&) { left_ = true; },
             },
             action);
}

void PortLinks::send(const action::SendDatagram& action) {
  user_.addressed(index_, action.peer);
  say(action.to, action.bytes);
}

// A datagram that cannot be sent now is repeated later.
void PortLinks::say(const UdAddress& to, const std::string& bytes) {
  std::byte* const buffer = out_->take();
  if (buffer == nullptr) return;
  verbs::Target target;
  target.lid = to.lid;
  std::memcpy(target.gid.raw, to.gid.data(), sizeof target.gid.raw);
  auto ah = verbs::create_ah(*parts_.device.symbols, parts_.pd, verbs::address_of(port(), target));
  std::memcpy(buffer, bytes.data(), bytes.size());
  ibv_sge piece{reinterpret_cast<std::uint64_t>(buffer), static_cast<std::uint32_t>(bytes.size()),
                out_->key_of(buffer)};
  ibv_send_wr request{}, *bad = nullptr;
  request.wr_id = reinterpret_cast<std::uint64_t>(buffer);
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  Result<void> posted;
  if (ah) {
    request.wr.ud.ah = ah->get();
    request.wr.ud.remote_qpn = to.qpn;
    request.wr.ud.remote_qkey = job_.word.key;
    if (const int error = ::ibv_post_send(datagrams_.get(), &request, &bad); error != 0)
      posted = fail(verbs::verbs_error("send a datagram", parts_.device.context.get(), error));
  } else {
    posted = fail(std::move(ah.error()));
  }
  if (!posted) {
    out_->give_back(buffer);
    return judge_device(saying_, "say anything to others", posted.error());
  }
  saying_.over();
  ways_.emplace_back(buffer, std::move(*ah));  // until it is sent
}

void PortLinks::judge_device(DeviceHealth& trouble, const char* what, const Error& error) {
  if (trouble.lasts(user_.now())) user_.failed(index_, cat(what, ": ", error.text()));
}

void PortLinks::give_up(connect::PeerId peer) {
  give_ups_.give_up(peers().address(peer), user_.now());
  say_give_ups();
}

void PortLinks::say_give_ups() {
  for (const connect::GiveUps::OutgoingDatagram& one : std::exchange(give_ups_.sayings(), {}))
    say(one.to.address, one.bytes);
}

// Tells the machine the result that it waits for.
void PortLinks::made(QpId id, Result<verbs::Qp> qp, std::uint32_t psn, const Result<void>& ready,
                     bool gone) {
  if (!qp || !ready) {
    why_no_pair_ = (qp ? ready.error() : qp.error()).text();
    return tell(event::QpFailed{id, gone});
  }
  if (pairs_.size() <= id) pairs_.resize(id + 1);
  pairs_[id] = std::make_unique<Pair>();
  pairs_[id]->qp = std::move(*qp);
  pairs_[id]->first_packet = psn;
  used_ = used_ || pairs_[id]->qp->qp_type == IBV_QPT_XRC_RECV;
  tell(event::QpMade{id, pairs_[id]->qp->qp_num, psn});
}

void PortLinks::create(const action::CreateSendQp& action) {
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
  made(action.qp, std::move(qp), first_packet(), ready);
}

void PortLinks::connect_qp(const action::ConnectQp& action) {
  const verbs::Symbols& symbols = *parts_.device.symbols;
  if (this->pair(action.qp) == nullptr) return tell(event::QpFailed{action.qp, false});
  Pair& pair = *pairs_[action.qp];
  const std::uint8_t reads = std::min(action.end.reads, this->reads());
  Result<void> done =
      verbs::to_receive(symbols, pair.qp, port(), target_of(action.at, action.end), reads);
  if (done) pair.peer = action.at;
  if (done) done = verbs::to_send(symbols, pair.qp, pair.first_packet, reads, verbs::Patience{});
  used_ = used_ || done;
  if (done) return tell(event::QpConnected{action.qp});
  why_no_pair_ = done.error().text();
  tell(event::QpFailed{action.qp, false});
}

void PortLinks::create(const action::CreateReceiveQp& action) {
  const verbs::Symbols& symbols = *parts_.device.symbols;
  auto qp = verbs::create_xrc_recv_qp(symbols, parts_.device.context, parts_.xrcd);
  Result<void> ready;
  if (qp)
    ready = verbs::to_init(symbols, *qp, port(), IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  if (qp && ready)
    ready = verbs::to_receive(symbols, *qp, port(), target_of(action.at, action.end), reads());
  made(action.qp, std::move(qp), first_packet(), ready);
}

void PortLinks::open(const action::OpenReceiveQp& action) {
  made(action.qp,
       verbs::open_xrc_recv_qp(*parts_.device.symbols, parts_.device.context, parts_.xrcd,
                               action.number),
       0, {}, true);
}

// Requests under way come back before the pair is destroyed. With RC, a receive that is complete
// and not polled would be lost with it, though its sender knows that the message has arrived.
void PortLinks::close(QpId id) {
  std::erase_if(late_, [id](const auto& one) { return one.qp == id; });
  if (id >= pairs_.size()) return;  // it could not be made
  std::unique_ptr<Pair> pair = std::move(pairs_[id]);
  if (!pair || (pair->under_way == 0 && !by_rank())) return;
  if (!pair->broken) static_cast<void>(verbs::to_error(*parts_.device.symbols, pair->qp));
  pair->broken = true;
  pair->closed = user_.now();
  dying_.push_back(std::move(pair));
}

void PortLinks::abandon() {
  late_.clear();
  dying_.clear();
  pairs_.clear();
}

void PortLinks::bury() {
  // In the error state nothing more arrives, but a device may show what has arrived at any time
  // until it reports the last receive. That report is the affiliated asynchronous event Last WQE
  // Reached of the InfiniBand specification.
  if (dying_.empty()) return;
  const connect::Time time = user_.now();
  for (const auto& one : dying_) {
    if (one->complete || !one->peer) continue;
    if (one->last_told || time - one->closed >= kLastPatience) one->complete = parts_.looks.mark();
  }
  std::erase_if(dying_,
                [this](const auto& one) { return one->under_way == 0 && is_received(*one); });
}

// With XRC, completions belong to the shared receive queue, and stay.
bool PortLinks::is_received(const Pair& pair) const {
  return !by_rank() || !pair.peer || (pair.complete && parts_.looks.has_passed(*pair.complete));
}

// A new pair of the same two processes must wait, since its messages are behind those that may
// still come.
bool PortLinks::is_receiving(const UdAddress& from) const {
  return std::ranges::any_of(
      dying_, [&](const auto& one) { return one->peer == from && !is_received(*one); });
}

void PortLinks::connect_late() {
  for (std::size_t i = 0; i < late_.size();) {
    if (is_receiving(late_[i].at)) {
      ++i;
      continue;
    }
    const action::ConnectQp action = late_[i];
    late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(i));
    connect_qp(action);
    i = 0;  // its actions may have changed them
  }
}

void PortLinks::last_reached(const ibv_qp* qp) {
  for (const auto* const pairs : {&pairs_, &dying_})
    for (const auto& pair : *pairs)
      if (pair && pair->qp.get() == qp) pair->last_told = true;
}

std::optional<connect::Time> PortLinks::next_wake() const {
  auto due = machine_->next_wake();
  if (const auto other = give_ups_.next_wake()) due = std::min(due.value_or(*other), *other);
  if (!is_receiving()) return due;
  const connect::Time look = user_.now() + kBetweenEvents;
  return due ? std::min(*due, look) : look;
}

// ---- datagrams ----

Result<void> PortLinks::post(std::byte* buffer) {
  ibv_sge piece{reinterpret_cast<std::uint64_t>(buffer),
                static_cast<std::uint32_t>(kGrh + kHandshakeBytes), in_->key_of(buffer)};
  ibv_recv_wr request{}, *bad = nullptr;
  request.wr_id = reinterpret_cast<std::uint64_t>(buffer);
  request.sg_list = &piece;
  request.num_sge = 1;
  if (const int error = ::ibv_post_recv(datagrams_.get(), &request, &bad); error != 0)
    return fail(
        verbs::verbs_error("post a buffer for datagrams", parts_.device.context.get(), error));
  return {};
}

void PortLinks::post_those_left() {
  while (!unposted_.empty()) {
    if (auto posted = post(unposted_.back()); !posted)
      return judge_device(hearing_, "hear what others say", posted.error());
    unposted_.pop_back();
    hearing_.over();
  }
}

void PortLinks::hear(const std::string& bytes) {
  if (!give_ups_.take(bytes, user_.now())) return tell(event::Datagram{bytes});
  for (const PeerAddress& address : give_ups_.take_those_that_did())
    user_.gave_up(index_, machine_->add(address));
}

unsigned PortLinks::poll() {
  std::array<ibv_wc, 16> completions;
  const int count =
      ::ibv_poll_cq(datagram_cq_.get(), static_cast<int>(completions.size()), completions.data());
  if (count < 0) user_.failed(index_, "poll the completion queue of datagrams");
  post_those_left();
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = completions[static_cast<std::size_t>(i)];
    auto* const buffer = reinterpret_cast<std::byte*>(wc.wr_id);
    if (std::erase_if(ways_, [&](const auto& slot) { return slot.first == buffer; }) != 0) {
      out_->give_back(buffer);
      continue;
    }
    std::string bytes;
    if (wc.status == IBV_WC_SUCCESS && wc.byte_len >= kGrh)
      bytes.assign(reinterpret_cast<const char*>(buffer) + kGrh, wc.byte_len - kGrh);
    if (!post(buffer)) unposted_.push_back(buffer);
    if (!bytes.empty()) hear(bytes);
  }
  connect_late();
  if (const auto due = machine_->next_wake(); due && *due <= user_.now()) tell(event::Timer{});
  give_ups_.wake(user_.now());
  say_give_ups();
  return static_cast<unsigned>(std::max(0, count));
}

}  // namespace scela::channel
