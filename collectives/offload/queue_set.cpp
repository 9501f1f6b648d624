#include "collectives/offload/queue_set.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {

namespace verbs = channel::verbs;

namespace {

using Do = OffloadTask::Kind;

// Returns the size of a completion queue: the most completions that the process has not read yet,
// those of an end included. `messages` is the number of messages each way.
int completions(std::uint32_t messages) {
  return static_cast<int>(8 * messages);
}

// All completion queues have the adapter's channel, though only that of the tasks is ever armed. A
// poll that finds nothing in a queue without one may sleep (hca/library/objects/poll_sleeper.h).
// The caller has other queues to read, and a computation to go back to.
Result<verbs::Cq> task_cq(const Adapter& adapter, int entries) {
  return verbs::create_task_cq(adapter.device.capability, adapter.device.context, entries,
                               adapter.has_events() ? &adapter.events : nullptr);
}
Result<verbs::Qp> held_qp(const Adapter& adapter, const verbs::Cq& sends, const verbs::Cq& receives,
                          std::uint32_t send_requests, std::uint32_t receive_requests) {
  verbs::QueueSizes sizes;
  sizes.sends = send_requests;
  sizes.receives = receive_requests;
  return verbs::create_task_qp(adapter.device.capability, adapter.pd, IBV_QPT_RC, sends, receives,
                               {}, sizes, SCELA_QP_CROSS_CHANNEL | SCELA_QP_MANAGED_SEND);
}

ibv_sge sge_of(const Piece& piece) {
  return {reinterpret_cast<std::uint64_t>(piece.address), piece.bytes, piece.lkey};
}

scela_task enabling(const verbs::Qp& qp, std::uint32_t count) {
  scela_task task{};
  task.opcode = SCELA_TASK_SEND_ENABLE;
  task.u.enable.qp = qp.get();
  task.u.enable.count = count;
  return task;
}

Result<void> join(const Adapter& adapter, const verbs::Qp& qp, const verbs::Target& to,
                  std::uint32_t first_packet) {
  const verbs::Symbols& symbols = adapter.task_symbols;
  if (auto done = verbs::to_receive(symbols, qp, adapter.port(), to, 1); !done) return done;
  return verbs::to_send(symbols, qp, first_packet, 1, verbs::Patience{});
}

}  // namespace

// ---- the device ----

Result<std::unique_ptr<Adapter>> Adapter::open() {
  auto adapter = std::make_unique<Adapter>();
  auto device = verbs::open_device({});
  if (!device) return fail(std::move(device.error()));
  adapter->device = std::move(*device);
  const verbs::Capability& can = adapter->device.capability;
  if (can.tasks == nullptr)
    return fail({ErrorKind::usage, "run collective operations by the adapter's engine", can.device,
                 "nobody executes tasks for it",
                 cat("install ", verbs::kTasksLibrary,
                     " where the linker looks, or let operations be run by a thread, or polled")});
  const verbs::Symbols& symbols = *adapter->device.symbols;
  adapter->task_symbols = symbols;
  adapter->task_symbols.ibv_modify_qp = can.tasks->scela_modify_qp;
  auto pd = verbs::alloc_pd(symbols, adapter->device.context);
  if (!pd) return fail(std::move(pd.error()));
  adapter->pd = std::move(*pd);
  auto events = verbs::create_comp_channel(symbols, adapter->device.context);
  if (!events) return fail(std::move(events.error()));
  adapter->events = std::move(*events);
  // Reading must not block, because an event of a queue destroyed meanwhile does not count.
  ::fcntl(adapter->events->fd, F_SETFL, ::fcntl(adapter->events->fd, F_GETFL) | O_NONBLOCK);
  constexpr std::uint64_t kUnused = std::uint64_t{256} << 20;
  adapter->registrations = std::make_unique<verbs::Registrations>(symbols, adapter->pd, kUnused);
  return adapter;
}

bool Adapter::works() const {
  // The call must reach the engine; the library may know attributes without it.
  ibv_pd* const asked = device.symbols->ibv_alloc_pd(device.context.get());
  if (asked == nullptr) return false;
  device.symbols->ibv_dealloc_pd(asked);
  return true;
}

// ---- queues ----

Result<std::unique_ptr<QueueSet>> QueueSet::make(Adapter& adapter) {
  std::unique_ptr<QueueSet> set(new QueueSet(adapter));
  if (auto made = set->make_own(); !made) return fail(std::move(made.error()));
  return set;
}

Result<void> QueueSet::make_own() {
  auto done = task_cq(adapter_, static_cast<int>(depths_.tasks));
  if (!done) return fail(std::move(done.error()));
  done_ = std::move(*done);
  auto copied = task_cq(adapter_, completions(depths_.copies));
  if (!copied) return fail(std::move(copied.error()));
  copied_ = std::move(*copied);
  auto aside = task_cq(adapter_, static_cast<int>(depths_.announcements));
  if (!aside) return fail(std::move(aside.error()));
  aside_ = std::move(*aside);
  auto self = held_qp(adapter_, copied_, copied_, depths_.copies, 1);
  if (!self) return fail(std::move(self.error()));
  self_ = std::move(*self);
  const verbs::Port& port = adapter_.port();
  if (auto ready = verbs::to_init(adapter_.task_symbols, self_, port, IBV_ACCESS_REMOTE_WRITE);
      !ready)
    return ready;
  if (auto ready = join(adapter_, self_, {port.lid, port.gid, port.mtu, self_->qp_num, 0}, 0);
      !ready)
    return ready;
  auto manager =
      verbs::ManagementQueue::make(adapter_.device.capability, adapter_.pd, done_, depths_.tasks);
  if (!manager) return fail(std::move(manager.error()));
  manager_.emplace(std::move(*manager));
  return {};
}

Result<void> QueueSet::add(int rank) {
  const std::uint32_t depth = depths_.messages;
  Peer peer(depth);
  for (verbs::Cq* const cq : {&peer.sent, &peer.came, &peer.told}) {
    auto made = task_cq(adapter_, completions(depth));
    if (!made) return fail(std::move(made.error()));
    *cq = std::move(*made);
  }
  auto out = held_qp(adapter_, peer.sent, peer.sent, 2 * depth, 1);
  if (!out) return fail(std::move(out.error()));
  peer.out = std::move(*out);
  auto in = held_qp(adapter_, peer.came, peer.came, 1, depth);
  if (!in) return fail(std::move(in.error()));
  peer.in = std::move(*in);
  auto tell = held_qp(adapter_, aside_, peer.told, depth, 2 * depth);
  if (!tell) return fail(std::move(tell.error()));
  peer.tell = std::move(*tell);
  const verbs::Symbols& symbols = adapter_.task_symbols;
  for (const verbs::Qp* const qp : {&peer.out, &peer.in})
    if (auto ready = verbs::to_init(symbols, *qp, adapter_.port(), 0); !ready) return ready;
  if (auto ready = verbs::to_init(symbols, peer.tell, adapter_.port(), IBV_ACCESS_REMOTE_WRITE);
      !ready)
    return ready;
  peer.first_packet =
      static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count() >> 4) &
      0xffffff;
  for (std::uint32_t i = 0; i < depth; ++i)
    if (auto posted = await_announcement(peer); !posted) return posted;
  peers_.insert_or_assign(rank, std::move(peer));
  return {};
}

QueueEnd QueueSet::end_of(int rank) const {
  const Peer& peer = peers_.at(rank);
  const verbs::Port& port = adapter_.port();
  QueueEnd end;
  std::memcpy(end.gid.data(), port.gid.raw, end.gid.size());
  end.lid = port.lid;
  end.mtu = static_cast<std::uint8_t>(port.mtu);
  end.out = peer.out->qp_num;
  end.in = peer.in->qp_num;
  end.tell = peer.tell->qp_num;
  end.first_packet = peer.first_packet;
  return end;
}

Result<void> QueueSet::connect(int rank, const QueueEnd& other) {
  const Peer& peer = peers_.at(rank);
  verbs::Target target;
  std::memcpy(target.gid.raw, other.gid.data(), other.gid.size());
  target.lid = other.lid;
  target.mtu = static_cast<ibv_mtu>(other.mtu);
  target.first_packet = other.first_packet;
  target.queue_pair = other.in;
  if (auto done = join(adapter_, peer.out, target, peer.first_packet); !done) return done;
  target.queue_pair = other.out;
  if (auto done = join(adapter_, peer.in, target, peer.first_packet); !done) return done;
  target.queue_pair = other.tell;
  return join(adapter_, peer.tell, target, peer.first_packet);
}

// ---- posting ----

bool QueueSet::has_room(const OffloadTask& task, int rank) {
  if (is_full_for(task)) return false;
  if (task.kind != Do::announce && task.kind != Do::send) return true;
  const Peer& peer = peer_of(rank);
  if (task.kind == Do::send) return !peer.sends.empty() || has_room_to_send(peer);
  return !peer.receives.empty() || has_room_to_receive(peer);
}

Result<void> QueueSet::failed(const char* what, int error) const {
  if (error == 0) return {};
  return fail(verbs::verbs_error(what, adapter_.device.context.get(), error));
}

Result<void> QueueSet::await_announcement(const Peer& peer) {
  ibv_recv_wr request{}, *bad = nullptr;
  return failed("post a receive of no bytes", ::ibv_post_recv(peer.tell.get(), &request, &bad));
}

Result<void> QueueSet::announce(Peer& peer, const Piece& to) {
  if (peer.receives.keeps(to, has_room_to_receive(peer)))
    ++waiting_;
  else if (auto done = post_receive(peer, to); !done)
    return done;
  return manage(enabling(peer.tell, 1), false);
}

// Posts a receive and its announcement. The write has no bytes, so it needs no memory at the peer.
Result<void> QueueSet::post_receive(Peer& peer, const Piece& to) {
  ibv_sge sge = sge_of(to);
  ibv_recv_wr receive{}, *bad_receive = nullptr;
  receive.sg_list = &sge;
  receive.num_sge = to.bytes == 0 ? 0 : 1;
  if (auto done = failed("post a receive", ::ibv_post_recv(peer.in.get(), &receive, &bad_receive));
      !done)
    return done;
  peer.expected.push({to.bytes, to.mark});
  ibv_send_wr write{}, *bad = nullptr;
  write.wr_id = reinterpret_cast<std::uint64_t>(&peer);
  write.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  write.send_flags = IBV_SEND_SIGNALED;
  if (auto done = failed("post an announcement", ::ibv_post_send(peer.tell.get(), &write, &bad));
      !done)
    return done;
  ++peer.telling;
  ++telling_;
  return {};
}

Result<void> QueueSet::send(Peer& peer, const Piece& from) {
  if (peer.sends.keeps(from, has_room_to_send(peer)))
    ++waiting_;
  else if (auto done = post_send(peer, from); !done)
    return done;
  return manage(enabling(peer.out, 2), false);
}

// Posts a send and one more receive of no bytes. So no announcement finds the queue without a
// receive, even if this program does not look for long.
Result<void> QueueSet::post_send(Peer& peer, const Piece& from) {
  if (auto done = await_announcement(peer); !done) return done;
  scela_task wait{};
  wait.opcode = SCELA_TASK_WAIT;
  wait.u.wait.cq = peer.told.get();
  wait.u.wait.count = 1;
  wait.u.wait.last = 1;
  const verbs::TaskSymbols& tasks = *adapter_.device.capability.tasks;
  if (auto done = verbs::post_tasks(tasks, peer.out, {&wait, 1}); !done) return done;
  ibv_sge sge = sge_of(from);
  ibv_send_wr request{}, *bad = nullptr;
  request.sg_list = &sge;
  request.num_sge = from.bytes == 0 ? 0 : 1;
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = from.mark;
  request.send_flags = IBV_SEND_SIGNALED;
  if (auto done = failed("post a send", ::ibv_post_send(peer.out.get(), &request, &bad)); !done)
    return done;
  ++peer.posted;
  return {};
}

// Posts the messages that waited for room. The tasks that enable them have been posted, so that
// they go on by themselves.
Result<void> QueueSet::refill() {
  if (waiting_ == 0) return {};
  told();
  for (auto& [rank, peer] : peers_) {
    if (peer.sends.empty() && peer.receives.empty()) continue;
    drain(rank);
    for (; !peer.receives.empty() && has_room_to_receive(peer); --waiting_)
      if (auto done = post_receive(peer, peer.receives.take()); !done) return done;
    for (; !peer.sends.empty() && has_room_to_send(peer); --waiting_)
      if (auto done = post_send(peer, peer.sends.take()); !done) return done;
  }
  return {};
}

Result<void> QueueSet::copy(const Piece& from, const Piece& to) {
  ibv_sge sge = sge_of(from);
  ibv_send_wr write{}, *bad = nullptr;
  write.sg_list = &sge;
  write.num_sge = 1;
  write.opcode = IBV_WR_RDMA_WRITE;
  write.send_flags = IBV_SEND_SIGNALED;
  write.wr.rdma.remote_addr = reinterpret_cast<std::uint64_t>(to.address);
  write.wr.rdma.rkey = to.rkey;
  if (auto done = failed("post a copy", ::ibv_post_send(self_.get(), &write, &bad)); !done)
    return done;
  ++copying_;
  return manage(enabling(self_, 1), false);
}

Result<void> QueueSet::manage(const scela_task& made, bool tells, std::span<const ibv_sge> pieces) {
  scela_task& task = batch_[batched_];
  task = made;
  ++tasks_;
  task.wr_id = tasks_;
  const bool says = tasks_ == next_said_;
  if (says) next_said_ += depths_.says();
  task.send_flags = tells || says ? unsigned{IBV_SEND_SIGNALED} : 0u;
  if (!pieces.empty()) {
    std::ranges::copy(pieces, pieces_[batched_].begin());
    task.u.calc.sg_list = pieces_[batched_].data();
    task.u.calc.num_sge = static_cast<int>(pieces.size());
  }
  ++batched_;
  return batched_ == batch_.size() ? flush() : Result<void>{};
}

Result<void> QueueSet::flush() {
  return manager_->post({batch_.data(), std::exchange(batched_, 0)});
}

Result<std::uint64_t> QueueSet::post(const OffloadTask& task, int rank, const Piece& from,
                                     const Piece& to,
                                     const std::optional<Calculation>& calculation) {
  scela_task made{};
  Result<void> done;
  const auto wait_for = [&](const verbs::Cq& cq, std::uint32_t count) {
    made.opcode = SCELA_TASK_WAIT;
    made.u.wait.cq = cq.get();
    made.u.wait.count = count;
    made.u.wait.last = 1;
    done = manage(made, count == 0);
  };
  switch (task.kind) {
    case Do::announce:
      done = announce(peer_of(rank), to);
      break;
    case Do::send:
      done = send(peer_of(rank), from);
      break;
    case Do::wait_sent:
      wait_for(peer_of(rank).sent, task.count);
      break;
    case Do::wait_received:
      wait_for(peer_of(rank).came, task.count);
      break;
    case Do::copy:
      done = copy(from, to);
      break;
    case Do::wait_copies:
      wait_for(copied_, task.count);
      break;
    case Do::reduce:
      made.opcode = SCELA_TASK_CALC;
      made.u.calc.op = static_cast<scela_calc_op>(calculation->op);
      made.u.calc.type = static_cast<scela_calc_type>(calculation->type);
      done = manage(made, false,
                    std::array{sge_of(to), sge_of(task.from_right ? to : from),
                               sge_of(task.from_right ? from : to)});
      break;
    case Do::signal:  // over once the queue comes to it
      wait_for(copied_, 0);
      break;
  }
  if (!done) return fail(std::move(done.error()));
  return tasks_;
}

static_assert(static_cast<int>(Calculation::Op::bit_xor) == SCELA_CALC_XOR &&
              static_cast<int>(Calculation::Op::maximum) == SCELA_CALC_MAX &&
              static_cast<int>(Calculation::Type::uint64) == SCELA_CALC_UINT64 &&
              static_cast<int>(Calculation::Type::float64) == SCELA_CALC_DOUBLE);

// ---- what has completed ----

namespace {

template <class Act>
void poll_all(const verbs::Cq& cq, Act act) {
  std::array<ibv_wc, 16> completions;
  for (int count = 1; count > 0;) {
    count = ::ibv_poll_cq(cq.get(), static_cast<int>(completions.size()), completions.data());
    for (int i = 0; i < count; ++i)
      act(completions[static_cast<std::size_t>(i)]);
  }
}

}  // namespace

std::uint64_t QueueSet::over() {
  poll_all(done_, [this](const ibv_wc& wc) {
    if (wc.status == IBV_WC_SUCCESS)
      over_ = std::max(over_, wc.wr_id);
    else
      complain(-1, wc, "a task of its management queue");
  });
  return over_;
}

void QueueSet::arm() {
  if (adapter_.has_events()) ::ibv_req_notify_cq(done_.get(), 0);
}

void QueueSet::complain(PeerFailure trouble) {
  if (!trouble_ || (trouble_->flushed && !trouble.flushed)) trouble_ = std::move(trouble);
}

void QueueSet::complain(int peer, const ibv_wc& wc, const char* what) {
  PeerFailure trouble;
  trouble.peer = peer;
  trouble.flushed = wc.status == IBV_WC_WR_FLUSH_ERR;
  trouble.words = cat(what, ": ", adapter_.device.symbols->ibv_wc_status_str(wc.status));
  complain(std::move(trouble));
}

void QueueSet::sent(int rank, Peer& peer, const ibv_wc& wc) {
  ++peer.gone;
  if (wc.status != IBV_WC_SUCCESS) complain(rank, wc, "a message to it");
}

void QueueSet::came(int rank, Peer& peer, const ibv_wc& wc) {
  if (peer.expected.empty()) return;
  const Message expected = peer.expected.pop();
  const bool longer = wc.status == IBV_WC_LOC_LEN_ERR;
  if (wc.status != IBV_WC_SUCCESS && !longer) return complain(rank, wc, "a message from it");
  const bool same_length = !longer && wc.byte_len == expected.bytes;
  if (same_length && wc.imm_data == expected.mark) return;
  PeerFailure trouble;
  trouble.peer = rank;
  trouble.mismatch = true;
  trouble.words =
      same_length ? std::string("it has called another operation")
                  : cat("it sent ", longer ? cat("more than ", expected.bytes) : cat(wc.byte_len),
                        " bytes where ", expected.bytes, " are expected");
  trouble.words += ": ranks must call operations in the same order, with equal sizes";
  complain(std::move(trouble));
}

void QueueSet::drain(int rank) {
  Peer& peer = peers_.at(rank);
  poll_all(peer.sent, [&](const ibv_wc& wc) { sent(rank, peer, wc); });
  poll_all(peer.came, [&](const ibv_wc& wc) { came(rank, peer, wc); });
  poll_all(peer.told, [&](const ibv_wc& wc) {
    if (wc.status == IBV_WC_SUCCESS)
      ++peer.announced;
    else
      complain(rank, wc, "an announcement of it");
  });
}

void QueueSet::told() {
  poll_all(aside_, [this](const ibv_wc& wc) {
    const auto of = [&](const auto& entry) {
      return reinterpret_cast<std::uint64_t>(&entry.second) == wc.wr_id;
    };
    const auto at = std::ranges::find_if(peers_, of);
    if (at == peers_.end()) return;
    --at->second.telling;
    --telling_;
    if (wc.status != IBV_WC_SUCCESS) complain(at->first, wc, "an announcement to it");
  });
}

void QueueSet::drain_all() {
  for (auto& [rank, peer] : peers_)
    drain(rank);
  told();
  poll_all(copied_, [this](const ibv_wc& wc) {
    --copying_;
    if (wc.status != IBV_WC_SUCCESS) complain(-1, wc, "a copy in its own memory");
  });
}

// A send for which the peer has announced a buffer completes in any case, with success or failure.
bool QueueSet::needs(int rank) const {
  const auto at = peers_.find(rank);
  if (at == peers_.end()) return false;
  const Peer& peer = at->second;
  return !peer.expected.empty() || peer.announced < peer.posted || !peer.sends.empty() ||
         !peer.receives.empty();
}

}  // namespace scela::collectives
