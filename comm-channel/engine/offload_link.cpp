#include "comm-channel/engine/offload_link.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "common/core/text.h"

namespace scela::channel {

namespace {

// Buffers of the receiving end for messages that have not been received: armed ones, and those of
// parked messages.
constexpr std::uint32_t kBuffers = 2 * kMaxParked;
// The number of receiving ends that stay for a while. When this many others have ended, the
// sender's adapter has heard of what came by the oldest.
constexpr std::size_t kMaxRetired = 4;

std::uint64_t request_id(std::uint32_t lane, bool announcement) {
  return std::uint64_t{lane} << 1 | (announcement ? 1 : 0);
}
std::uint32_t lane_of(const ibv_wc& wc) {
  return static_cast<std::uint32_t>(wc.wr_id >> 1);
}
bool is_announcement(const ibv_wc& wc) {
  return (wc.wr_id & 1) != 0;
}

}  // namespace

OffloadLink::OffloadLink(const verbs::Device& device, const verbs::Pd& pd,
                         const verbs::CompChannel& events, std::uint32_t most)
    : device_(device), pd_(pd), events_(events), max_(most), task_symbols_(*device.symbols) {
  if (can_send()) task_symbols_.ibv_modify_qp = device.capability.tasks->scela_modify_qp;
}

OffloadLink::~OffloadLink() = default;

// ---- lanes ----

Result<void> OffloadLink::make_queues(Side side) {
  const auto entries = static_cast<int>((max_ + kMaxRetired) * 3 * kBuffers);
  const bool first = side == Side::receiving ? !came_cq_ : !sent_cq_;
  if (!first) return {};
  if (side == Side::receiving) {
    auto cq = verbs::create_cq(*device_.symbols, device_.context, entries, events_);
    if (!cq) return fail(std::move(cq.error()));
    came_cq_ = std::move(*cq);
  } else {
    // A thread that executes tasks raises no events.
    const bool wakes = device_.capability.executor == verbs::Executor::engine;
    auto cq = verbs::create_task_cq(device_.capability, device_.context, entries,
                                    wakes ? &events_ : nullptr);
    if (!cq) return fail(std::move(cq.error()));
    sent_cq_ = std::move(*cq);
  }
  arm_events();  // the others may be armed already
  return {};
}

Result<OffloadLink::LaneId> OffloadLink::make(Side side) {
  if (auto made = make_queues(side); !made) return fail(std::move(made.error()));
  auto lane = std::make_unique<Lane>();
  lane->side = side;
  const LaneId id = ++last_;
  if (auto made = side == Side::sending ? make_sending(*lane) : make_receiving(*lane); !made)
    return fail(std::move(made.error()));
  lane->first_packet =
      static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count() >> 4) &
      0xffffff;
  if (side == Side::sending) {
    for (std::uint32_t i = 0; i < kMaxParked; ++i)
      if (const int error = await_announcement(id, *lane); error != 0)
        return fail(verbs::verbs_error("post a receive of no bytes", device_.context.get(), error));
  }
  lanes_.emplace(id, std::move(lane));
  return id;
}

Result<void> OffloadLink::make_sending(Lane& lane) {
  auto cq = verbs::create_task_cq(device_.capability, device_.context, kBuffers * 2);
  if (!cq) return fail(std::move(cq.error()));
  lane.announcements = std::move(*cq);
  verbs::QueueSizes sizes;
  sizes.sends = 2 * kMaxParked + 8;  // a WAIT before each
  sizes.receives = kBuffers * 2;
  auto qp = verbs::create_task_qp(device_.capability, pd_, IBV_QPT_RC, sent_cq_, lane.announcements,
                                  {}, sizes, SCELA_QP_CROSS_CHANNEL);
  if (!qp) return fail(std::move(qp.error()));
  lane.qp = std::move(*qp);
  return verbs::to_init(task_symbols_, lane.qp, port(), IBV_ACCESS_REMOTE_WRITE);
}

Result<void> OffloadLink::make_receiving(Lane& lane) {
  verbs::QueueSizes sizes;
  sizes.sends = sizes.receives = kBuffers;
  auto qp = verbs::create_qp(*device_.symbols, pd_, IBV_QPT_RC, came_cq_, came_cq_, {}, sizes);
  if (!qp) return fail(std::move(qp.error()));
  lane.qp = std::move(*qp);
  return verbs::to_init(*device_.symbols, lane.qp, port(), 0);
}

LaneEnd OffloadLink::end_of(LaneId id) const {
  const Lane& lane = *lanes_.at(id);
  LaneEnd end;
  std::memcpy(end.gid.data(), port().gid.raw, end.gid.size());
  end.lid = port().lid;
  end.mtu = static_cast<std::uint8_t>(port().mtu);
  end.queue_pair = lane.qp->qp_num;
  end.first_packet = lane.first_packet;
  return end;
}

Result<void> OffloadLink::connect(LaneId id, const LaneEnd& other) {
  const Lane& lane = *lanes_.at(id);
  const verbs::Symbols& symbols = lane.side == Side::sending ? task_symbols_ : *device_.symbols;
  verbs::Target target;
  std::memcpy(target.gid.raw, other.gid.data(), other.gid.size());
  target.lid = other.lid;
  target.mtu = static_cast<ibv_mtu>(other.mtu);
  target.queue_pair = other.queue_pair;
  target.first_packet = other.first_packet;
  if (auto ready = verbs::to_receive(symbols, lane.qp, port(), target, 1); !ready) return ready;
  return verbs::to_send(symbols, lane.qp, lane.first_packet, 1, verbs::Patience{});
}

OffloadLink::Lane* OffloadLink::find(LaneId id) {
  const auto at = lanes_.find(id);
  return at == lanes_.end() ? nullptr : at->second.get();
}

void OffloadLink::retire(LaneId id) {
  Lane* const lane = find(id);
  if (lane == nullptr) return;
  lane->retired = true;
  if (lane->side == Side::sending) {
    if (lane->sends.empty()) lanes_.erase(id);
    return;
  }
  retired_.push_back(id);
  if (retired_.size() <= kMaxRetired) return;
  lanes_.erase(retired_.front());
  retired_.pop_front();
}

std::vector<Operation*> OffloadLink::remove(LaneId id) {
  const auto at = lanes_.find(id);
  if (at == lanes_.end()) return {};
  const std::vector<Operation*> left(at->second->sends.begin(), at->second->sends.end());
  sending_ -= static_cast<std::uint32_t>(left.size());
  std::erase(retired_, id);
  lanes_.erase(at);
  return left;
}

// ---- the sending end ----

int OffloadLink::await_announcement(LaneId id, Lane& lane) {
  ibv_recv_wr request{}, *bad = nullptr;
  request.wr_id = request_id(id, true);
  return ::ibv_post_recv(lane.qp.get(), &request, &bad);
}

void OffloadLink::take_announcements(LaneId id, Lane& lane) {
  std::array<ibv_wc, 16> completions;
  for (int count = 1; count > 0;) {
    count = ::ibv_poll_cq(lane.announcements.get(), static_cast<int>(completions.size()),
                          completions.data());
    for (int i = 0; i < count; ++i) {
      const ibv_wc& wc = completions[static_cast<std::size_t>(i)];
      if (wc.status == IBV_WC_SUCCESS)
        ++lane.announced;
      else
        broke(id, lane, device_.symbols->ibv_wc_status_str(wc.status));
    }
  }
}

bool OffloadLink::awaited(LaneId id) {
  Lane& lane = *lanes_.at(id);
  take_announcements(id, lane);
  return lane.announced > lane.posted;
}

// One more receive is posted for each send. So no announcement meets an end without a receive, even
// if this program does not look for long.
void OffloadLink::send(LaneId id, Operation& operation) {
  Lane& lane = *lanes_.at(id);
  take_announcements(id, lane);
  lane.sends.push_back(&operation);
  ++lane.posted;
  ++sending_;
  scela_task wait{};
  wait.opcode = SCELA_TASK_WAIT;
  wait.u.wait.cq = lane.announcements.get();
  wait.u.wait.count = 1;
  wait.u.wait.last = 1;
  int error = await_announcement(id, lane);
  if (error != 0)
    return broke(id, lane, cat("it takes no receive of no bytes: ", std::strerror(error)));
  if (auto posted = verbs::post_tasks(*device_.capability.tasks, lane.qp, {&wait, 1}); !posted)
    return broke(id, lane, posted.error().text());
  ibv_sge piece{reinterpret_cast<std::uint64_t>(operation.from),
                static_cast<std::uint32_t>(operation.length), operation.memory.lkey()};
  ibv_send_wr request{}, *bad = nullptr;
  request.wr_id = request_id(id, false);
  request.sg_list = &piece;
  request.num_sge = operation.length == 0 ? 0 : 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  error = ::ibv_post_send(lane.qp.get(), &request, &bad);
  if (error != 0) broke(id, lane, cat("it takes no send: ", std::strerror(error)));
}

void OffloadLink::sent(const ibv_wc& wc, User& user) {
  const LaneId id = lane_of(wc);
  Lane* const lane = find(id);
  if (lane == nullptr || lane->broken || lane->sends.empty()) return;
  // If the lane is retired, the receiver has said that all messages came, so its end is no error.
  if (wc.status != IBV_WC_SUCCESS && !lane->retired)
    return broke(id, *lane, device_.symbols->ibv_wc_status_str(wc.status));
  Operation& operation = *lane->sends.front();
  lane->sends.pop_front();
  --sending_;
  if (lane->retired && lane->sends.empty()) lanes_.erase(id);
  user.lane_sent(id, operation);
}

// ---- the receiving end ----

Result<std::shared_ptr<OwnMemory>> OffloadLink::own_memory(std::size_t bytes) const {
  auto memory = std::make_shared<OwnMemory>();
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  memory->bytes.reset(new (std::nothrow) std::byte[size]);
  if (memory->bytes == nullptr)
    return fail(Error{ErrorKind::io, cat("keep a message of ", size, " bytes"), "",
                      "there is no memory for it", "post its receive before it is sent"});
  auto region =
      verbs::reg_mr(*device_.symbols, pd_, memory->bytes.get(), size, IBV_ACCESS_LOCAL_WRITE);
  if (!region) return fail(std::move(region.error()));
  memory->region = std::move(*region);
  return memory;
}

void OffloadLink::arm(LaneId id, Buffer buffer) {
  Lane& lane = *lanes_.at(id);
  std::uint32_t key = 0;
  if (const auto* registered = std::get_if<verbs::Registration>(&buffer.memory))
    key = registered->lkey();
  else if (const auto* own = std::get_if<std::shared_ptr<OwnMemory>>(&buffer.memory))
    key = (*own)->region->lkey;
  ibv_sge piece{reinterpret_cast<std::uint64_t>(buffer.bytes.data()),
                static_cast<std::uint32_t>(buffer.bytes.size()), key};
  ibv_recv_wr request{}, *bad = nullptr;
  request.wr_id = request_id(id, false);
  request.sg_list = &piece;
  request.num_sge = buffer.bytes.empty() ? 0 : 1;
  lane.buffers.push_back(std::move(buffer));
  if (const int error = ::ibv_post_recv(lane.qp.get(), &request, &bad); error != 0)
    return broke(id, lane, cat("it takes no receive: ", std::strerror(error)));
  ++lane.unannounced;
  announce(id, lane);
}

// The write needs no memory at the other end, since it has no bytes.
void OffloadLink::announce(LaneId id, Lane& lane) {
  while (lane.unannounced != 0 && lane.announcing < kBuffers && !lane.broken) {
    ibv_send_wr request{}, *bad = nullptr;
    request.wr_id = request_id(id, true);
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.send_flags = IBV_SEND_SIGNALED;
    if (const int error = ::ibv_post_send(lane.qp.get(), &request, &bad); error != 0)
      return broke(id, lane, cat("it takes no write: ", std::strerror(error)));
    --lane.unannounced;
    ++lane.announcing;
  }
}

void OffloadLink::came(const ibv_wc& wc, User& user) {
  const LaneId id = lane_of(wc);
  Lane* const lane = find(id);
  if (lane == nullptr || lane->broken || lane->retired) return;
  if (wc.status != IBV_WC_SUCCESS)
    return broke(id, *lane, device_.symbols->ibv_wc_status_str(wc.status));
  if (is_announcement(wc)) {
    --lane->announcing;
    return announce(id, *lane);
  }
  const Buffer buffer = std::move(lane->buffers.front());  // until the user has looked
  lane->buffers.pop_front();
  user.lane_came(id, wc.byte_len);
}

// ---- both ----

void OffloadLink::broke(LaneId id, Lane& lane, const std::string& why) {
  if (!std::exchange(lane.broken, true) && !lane.retired) broken_.push_back({id, why});
}

unsigned OffloadLink::poll(User& user) {
  unsigned total = 0;
  std::array<ibv_wc, 16> completions;
  const auto poll_queue = [&](const verbs::Cq& cq,
                              void (OffloadLink::*take)(const ibv_wc&, User&)) {
    if (!cq) return;
    const int count =
        ::ibv_poll_cq(cq.get(), static_cast<int>(completions.size()), completions.data());
    for (int i = 0; i < count; ++i)
      (this->*take)(completions[static_cast<std::size_t>(i)], user);
    total += static_cast<unsigned>(std::max(count, 0));
  };
  if (sending_ != 0) poll_queue(sent_cq_, &OffloadLink::sent);
  if (!lanes_.empty()) poll_queue(came_cq_, &OffloadLink::came);
  for (const Broken& broken : std::exchange(broken_, {})) {
    ++total;
    user.lane_broken(broken.lane, broken.why);
  }
  return total;
}

bool OffloadLink::arm_events() {
  bool good = !came_cq_ || ::ibv_req_notify_cq(came_cq_.get(), 0) == 0;
  if (sent_cq_ && device_.capability.executor == verbs::Executor::engine)
    good = ::ibv_req_notify_cq(sent_cq_.get(), 0) == 0 && good;
  return good;
}

bool OffloadLink::must_look() const {
  return sending_ != 0 && device_.capability.executor == verbs::Executor::thread;
}

}  // namespace scela::channel
