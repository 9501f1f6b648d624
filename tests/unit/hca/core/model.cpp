#include "tests/unit/hca/core/model.h"

#include <algorithm>
#include <cstring>

namespace scela::hca::test::model {
namespace {

bool reads(Opcode opcode) {
  return opcode == Opcode::rdma_read || opcode == Opcode::fetch_add ||
         opcode == Opcode::compare_swap;
}

bool changes_memory_at_once(Opcode opcode) {
  return opcode == Opcode::fetch_add || opcode == Opcode::compare_swap;
}

bool is_management(Opcode opcode) {
  return opcode == Opcode::wait || opcode == Opcode::send_enable || opcode == Opcode::recv_enable ||
         opcode == Opcode::calc;
}

bool knows(QpType type, Opcode opcode) {
  const bool sends = opcode == Opcode::send || opcode == Opcode::send_with_imm;
  const bool writes = opcode == Opcode::rdma_write || opcode == Opcode::rdma_write_with_imm;
  if (is_management(opcode)) return true;
  if (type == QpType::ud) return sends;
  if (type == QpType::uc) return sends || writes;
  return sends || writes || reads(opcode);
}

std::uint32_t completes_as(Opcode opcode) {
  switch (opcode) {
    case Opcode::rdma_write:
    case Opcode::rdma_write_with_imm:
      return done::kRdmaWrite;
    case Opcode::rdma_read:
      return done::kRdmaRead;
    case Opcode::fetch_add:
      return done::kFetchAdd;
    case Opcode::compare_swap:
      return done::kCompareSwap;
    case Opcode::wait:
      return done::kWait;
    case Opcode::send_enable:
      return done::kSendEnable;
    case Opcode::recv_enable:
      return done::kRecvEnable;
    case Opcode::calc:
      return done::kCalc;
    default:
      return done::kSend;
  }
}

constexpr std::uint32_t kPsns = 1U << 24;

}  // namespace

void World::post_send(int qp, Send send) {
  Qp& of = qps.at(qp);
  send.index = of.sent++;
  of.sends.push_back(std::move(send));
}

void World::post_receive(int qp, Receive receive) {
  Qp& of = qps.at(qp);
  receive.index = of.received++;
  of.receives.push_back(std::move(receive));
}

void World::post_shared(int srq, Receive receive) {
  Srq& of = srqs.at(srq);
  receive.index = of.posted++;
  of.receives.push_back(std::move(receive));
}

void World::tell(const Qp& qp, EventType type) {
  if (qp.type != QpType::xrc_recv) return events.push_back({qp.process, type, qp.cookie});
  for (const auto& [process, cookie] : qp.holders)
    events.push_back({process, type, cookie});
}

void World::complete(int number, const Completion& completion) {
  Cq& cq = cqs.at(number);
  if (cq.overrun) return;
  if (cq.waiting.size() == cq.entries) {
    cq.overrun = true;
    events.push_back({cq.process, EventType::cq_error, cq.cookie});
    return;
  }
  cq.waiting.push_back(completion);
  ++cq.produced;
}

void World::finish_send(Qp& qp, const Send& send, Status status) {
  const bool wanted = qp.signal_all || (send.request.flags & send_flag::kSignaled) != 0;
  if (status == Status::success && !wanted) return;
  Completion completion;
  completion.wr_id = send.request.wr_id;
  completion.queue_index = send.index;
  completion.status = status;
  completion.opcode = completes_as(send.request.opcode);
  completion.qpn = completion.owner = qp.number;
  complete(qp.send_cq, completion);
}

void World::flush_sends(Qp& qp) {
  const std::deque<Send> sends = std::move(qp.sends);
  qp.sends.clear();
  qp.begun = false;
  for (const Send& send : sends)
    finish_send(qp, send, Status::flushed);
}

// Completes all posted requests with an error. Requests that are posted later end in the same way.
void World::fail(Qp& qp) {
  const bool enters = qp.state != QpState::err;
  qp.state = QpState::err;
  flush_sends(qp);
  for (const Receive& receive : qp.receives) {
    Completion completion;
    completion.wr_id = receive.wr_id;
    completion.queue_index = receive.index;
    completion.status = Status::flushed;
    completion.opcode = done::kReceive;
    completion.qpn = completion.owner = qp.number;
    complete(qp.recv_cq, completion);
  }
  qp.receives.clear();
  if (enters && qp.srq >= 0) tell(qp, EventType::last_wqe_reached);
}

void World::change(int number, QpState to, const QpAttributes& value, std::uint32_t mask) {
  Qp& qp = qps.at(number);
  const auto named = [mask](std::uint32_t attribute) { return (mask & attribute) != 0; };
  QpAttributes& has = qp.attributes;
  if (named(attribute::kAccessFlags)) has.access_flags = value.access_flags;
  if (named(attribute::kQkey)) has.qkey = value.qkey;
  if (named(attribute::kAv)) has.dlid = value.dlid;
  if (named(attribute::kDestQpn)) has.dest_qpn = value.dest_qpn;
  if (named(attribute::kMaxRdAtomic)) has.max_rd_atomic = value.max_rd_atomic;
  if (named(attribute::kMaxDestRdAtomic)) has.max_dest_rd_atomic = value.max_dest_rd_atomic;
  if (named(attribute::kRnrRetry)) has.rnr_retry = value.rnr_retry;
  if (named(attribute::kRqPsn)) qp.expected_psn = value.rq_psn;
  if (named(attribute::kSqPsn)) qp.send_psn = value.sq_psn;
  const QpState was = qp.state;
  if (to == QpState::err) return fail(qp);
  qp.state = to;
  if (to == QpState::reset) {
    qp.sends.clear();
    qp.receives.clear();
    qp.begun = qp.established = false;
    qp.send_enabled = qp.sent;
    qp.recv_enabled = qp.received;
  }
  if (was == QpState::rts && to == QpState::sqd) {
    qp.notify = named(attribute::kSqdNotify) && value.sqd_notify != 0;
    if (qp.notify && !qp.begun) tell(qp, EventType::sq_drained);
  }
}

void World::run() {
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& [number, qp] : qps)
      while (step(qp))
        moved = true;
  }
}

// Does one request of a queue pair. Returns false if it has none, or waits.
bool World::step(Qp& qp) {
  if (qp.state == QpState::err && (!qp.sends.empty() || !qp.receives.empty())) {
    fail(qp);
    return true;
  }
  if (qp.sends.empty()) return false;
  if (qp.state == QpState::sqe) {
    flush_sends(qp);
    return true;
  }
  const bool goes = qp.state == QpState::rts || (qp.state == QpState::sqd && qp.begun);
  const Send send = qp.sends.front();
  if (!goes || (qp.holds_sends && send.index >= qp.send_enabled)) return false;
  qp.begun = true;
  const Outcome outcome = execute(qp, send);
  // The queue pair has ended itself, and its request was flushed.
  if (qp.state == QpState::err) return true;
  if (outcome.what == What::not_ready && qp.attributes.rnr_retry == 7) return false;
  if (outcome.what == What::not_ready && is_management(send.request.opcode)) return false;
  Status status = outcome.status;
  if (outcome.what == What::not_ready) status = Status::rnr_retry_exceeded;
  if (outcome.what == What::nobody) status = Status::retry_exceeded;
  qp.sends.pop_front();
  qp.begun = false;
  finish_send(qp, send, status);
  if (status != Status::success) {
    if (qp.reliable()) {
      fail(qp);
    } else {
      qp.state = QpState::sqe;
      flush_sends(qp);
    }
  } else if (qp.state == QpState::sqd && qp.notify) {
    tell(qp, EventType::sq_drained);
  }
  return true;
}

World::Outcome World::execute(Qp& qp, const Send& send) {
  const SendRequest& request = send.request;
  const Outcome wrong{What::failed, Status::local_qp_operation};
  const bool inlined = (request.flags & send_flag::kInlined) != 0;
  if (!knows(qp.type, request.opcode) || send.sges.size() > qp.sges) return wrong;
  if (inlined && (send.data.size() > qp.inline_bytes || reads(request.opcode))) return wrong;
  if (reads(request.opcode) && qp.attributes.max_rd_atomic == 0) return wrong;
  if (is_management(request.opcode)) return manage(qp, send);
  if (changes_memory_at_once(request.opcode) && bytes_of(send) < 8)
    return {What::failed, Status::local_length};
  std::vector<std::byte*> mine;
  if (!inlined && !gather(send.sges, qp.pd, reads(request.opcode) ? access::kLocalWrite : 0, mine))
    return {What::failed, Status::local_protection};
  const std::uint32_t psn = qp.send_psn;
  if (qp.type == QpType::ud) {
    datagram(qp, send);
    return {};
  }
  Qp* to = target(qp.attributes.dlid, qp.attributes.dest_qpn);
  const bool same_kind =
      to && (qp.type == QpType::xrc_send ? to->type == QpType::xrc_recv : to->type == qp.type);
  const bool listens = same_kind && (to->state == QpState::rtr || to->state == QpState::rts ||
                                     to->state == QpState::sqd || to->state == QpState::sqe);
  const bool speaks_to_me = listens && target(to->attributes.dlid, to->attributes.dest_qpn) == &qp;
  Outcome outcome{What::nobody, Status::success};
  if (speaks_to_me && (!qp.reliable() || to->expected_psn == psn)) {
    if (!to->established && to->state == QpState::rtr)
      tell(*to, EventType::communication_established);
    to->established = true;
    outcome = carry(qp, *to, send);
  }
  if (!qp.reliable()) outcome = {};
  if (outcome.what == What::done) {
    qp.send_psn = (psn + 1) % kPsns;
    if (qp.reliable()) to->expected_psn = (psn + 1) % kPsns;
  }
  return outcome;
}

World::Outcome World::manage(Qp& qp, const Send& send) {
  const SendRequest& request = send.request;
  if (request.opcode == Opcode::wait) {
    const auto cq = cqs.find(static_cast<int>(request.compare_add));  // the model's number
    if (cq == cqs.end() || cq->second.process != qp.process)
      return {What::failed, Status::local_qp_operation};
    if (cq->second.produced < request.wait_until) return {What::not_ready, Status::success};
    return {};
  }
  if (request.opcode == Opcode::calc) {  // the model has 32-bit sums only
    std::vector<std::byte*> bytes;
    if (!gather(send.sges, qp.pd, 0, bytes)) return {What::failed, Status::local_protection};
    const std::size_t each = send.sges.at(0).length;
    for (std::size_t i = 0; i < each; i += 4) {
      std::uint32_t sum = 0;
      for (std::size_t operand = 1; operand < send.sges.size(); ++operand) {
        std::uint32_t value;
        std::memcpy(&value, bytes[operand * each + i], 4);
        sum += value;
      }
      std::memcpy(bytes[i], &sum, 4);
    }
    return {};
  }
  const auto to = qps.find(static_cast<int>(request.compare_add));
  const bool is_send = request.opcode == Opcode::send_enable;
  if (to == qps.end() || to->second.process != qp.process ||
      !(is_send ? to->second.holds_sends : to->second.holds_receives))
    return {What::failed, Status::local_qp_operation};
  (is_send ? to->second.send_enabled : to->second.recv_enabled) += request.wait_until;
  return {};
}

World::Outcome World::carry(Qp& from, Qp& to, const Send& send) {
  const SendRequest& request = send.request;
  Srq* srq = to.srq >= 0 ? &srqs.at(to.srq) : nullptr;
  int pd = to.pd;
  if (to.type == QpType::xrc_recv) {
    for (auto& [number, candidate] : srqs)
      if (candidate.number == request.remote_srqn && candidate.xrcd == to.xrcd &&
          node_of.at(candidate.process) == node_of.at(to.process))
        srq = &candidate;
    if (!srq) return refuse(to, Status::remote_invalid_request, EventType::qp_request_error);
    pd = srq->pd;
  }
  const std::uint64_t bytes = bytes_of(send);
  const bool writes =
      request.opcode == Opcode::rdma_write || request.opcode == Opcode::rdma_write_with_imm;
  if (reads(request.opcode) && to.attributes.max_dest_rd_atomic == 0)
    return refuse(to, Status::remote_invalid_request, EventType::qp_request_error);
  if (changes_memory_at_once(request.opcode) && request.remote_address % 8 != 0)
    return refuse(to, Status::remote_invalid_request, EventType::qp_request_error);
  std::byte* there = nullptr;
  if ((writes || reads(request.opcode)) && bytes != 0) {
    std::uint32_t right = access::kRemoteWrite;
    if (request.opcode == Opcode::rdma_read) right = access::kRemoteRead;
    if (changes_memory_at_once(request.opcode)) right = access::kRemoteAtomic;
    const Region* region = find(request.rkey, pd, request.remote_address,
                                changes_memory_at_once(request.opcode) ? 8 : bytes, right);
    if (!region || (to.attributes.access_flags & right) == 0)
      return refuse(to, Status::remote_access, EventType::qp_access_error);
    there = at(*region, request.remote_address);
  }
  std::vector<std::byte*> mine;
  if ((request.flags & send_flag::kInlined) == 0) gather(send.sges, from.pd, 0, mine);
  if (request.opcode == Opcode::rdma_read) {
    for (std::uint64_t i = 0; i < bytes; ++i)
      *mine[i] = there[i];
    return {};
  }
  if (changes_memory_at_once(request.opcode)) {
    std::uint64_t before;
    std::memcpy(&before, there, 8);
    std::uint64_t after = before + request.compare_add;
    if (request.opcode == Opcode::compare_swap)
      after = before == request.compare_add ? request.swap : before;
    std::memcpy(there, &after, 8);
    for (std::size_t i = 0; i < 8; ++i)
      *mine[i] = reinterpret_cast<const std::byte*>(&before)[i];
    return {};
  }
  if (writes) {
    for (std::uint64_t i = 0; i < bytes; ++i)
      there[i] = mine.empty() ? send.data[i] : *mine[i];
    if (request.opcode == Opcode::rdma_write) return {};
  }
  return receive(from, to, srq, send, 0);
}

// Delivers a message that takes a receive request. The first `gap` bytes of the receive stay free.
World::Outcome World::receive(Qp& from, Qp& to, Srq* srq, const Send& send, std::uint64_t gap) {
  std::deque<Receive>& queue = srq ? srq->receives : to.receives;
  const bool held =
      !srq && to.holds_receives && !queue.empty() && queue.front().index >= to.recv_enabled;
  if (queue.empty() || held) return {What::not_ready, Status::success};
  const Receive taken = queue.front();
  queue.pop_front();
  if (srq && srq->limit != 0 && queue.size() < srq->limit) {
    srq->limit = 0;
    events.push_back({srq->process, EventType::srq_limit_reached, srq->cookie});
  }
  const SendRequest& request = send.request;
  const bool writes = request.opcode == Opcode::rdma_write_with_imm;
  Completion completion;
  completion.wr_id = taken.wr_id;
  completion.queue_index = taken.index;
  completion.opcode = writes ? done::kReceiveRdmaWithImm : done::kReceive;
  completion.bytes = static_cast<std::uint32_t>(bytes_of(send) + gap);
  if (writes || request.opcode == Opcode::send_with_imm) {
    completion.immediate = request.immediate;
    completion.flags = done_flag::kWithImm;
  }
  completion.qpn = to.number;
  completion.source_qpn = from.number;
  completion.owner = srq ? srq->number : to.number;
  const int cq = srq && srq->cq >= 0 ? srq->cq : to.recv_cq;
  if (!writes) {
    std::uint64_t room = 0;
    for (const Sge& sge : taken.sges)
      room += sge.length;
    std::vector<std::byte*> into;
    if (room < bytes_of(send) + gap) {
      completion.status = Status::local_length;
    } else if (!gather(taken.sges, srq ? srq->pd : to.pd, access::kLocalWrite, into)) {
      completion.status = Status::local_protection;
    }
    if (completion.status != Status::success) {
      complete(cq, completion);
      fail(to);
      const bool is_long = completion.status == Status::local_length;
      return {What::failed, is_long ? Status::remote_invalid_request : Status::remote_operation};
    }
    std::vector<std::byte*> mine;
    if ((request.flags & send_flag::kInlined) == 0) gather(send.sges, from.pd, 0, mine);
    for (std::uint64_t i = 0; i < bytes_of(send); ++i)
      *into[gap + i] = mine.empty() ? send.data[i] : *mine[i];
  }
  complete(cq, completion);
  return {};
}

void World::datagram(Qp& from, const Send& send) {
  const Destination& where = send.request.destination;
  Qp* to = target(where.lid, where.qpn);
  const bool listens = to && to->type == QpType::ud &&
                       (to->state == QpState::rtr || to->state == QpState::rts ||
                        to->state == QpState::sqd || to->state == QpState::sqe);
  if (!listens || to->attributes.qkey != where.qkey) return;
  receive(from, *to, to->srq >= 0 ? &srqs.at(to->srq) : nullptr, send, limit::kGrhBytes);
}

World::Outcome World::refuse(Qp& qp, Status status, EventType event) {
  if (qp.reliable()) {
    tell(qp, event);
    fail(qp);
  }
  return {What::failed, status};
}

Qp* World::target(std::uint16_t lid, std::uint32_t number) {
  const int node = lid == 1 ? 0 : lid == 11 ? 1 : -1;
  for (auto& [index, qp] : qps)
    if (qp.number == number && node_of.at(qp.process) == node) return &qp;
  return nullptr;
}

const Region* World::find(std::uint32_t key, int pd, std::uint64_t address, std::uint64_t bytes,
                          std::uint32_t rights) const {
  for (const auto& [number, region] : regions)
    if (region.key == key && region.pd == pd && (region.rights & rights) == rights &&
        address >= region.iova && address - region.iova <= region.length &&
        bytes <= region.length - (address - region.iova))
      return &region;
  return nullptr;
}

std::byte* World::at(const Region& region, std::uint64_t address) {
  return memory.at(region.process).bytes.data() + region.offset + (address - region.iova);
}

bool World::gather(const std::vector<Sge>& sges, int pd, std::uint32_t rights,
                   std::vector<std::byte*>& bytes) {
  bytes.clear();
  for (const Sge& sge : sges) {
    if (sge.length == 0) continue;
    const Region* region = find(sge.lkey, pd, sge.address, sge.length, rights);
    if (!region) return false;
    std::byte* const first = at(*region, sge.address);
    for (std::uint32_t i = 0; i < sge.length; ++i)
      bytes.push_back(first + i);
  }
  return true;
}

}  // namespace scela::hca::test::model
