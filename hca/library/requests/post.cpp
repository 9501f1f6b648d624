// Posts requests. They are written straight into the engine's memory, and its doorbell is rung once
// per list.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "hca/library/objects/context.h"
#include "hca/library/objects/domains.h"
#include "hca/library/objects/srq.h"
#include "hca/library/requests/requests.h"

namespace scela::hca::library {

static_assert(sizeof(Sge) == sizeof(ibv_sge) && offsetof(Sge, address) == offsetof(ibv_sge, addr) &&
              offsetof(Sge, length) == offsetof(ibv_sge, length) &&
              offsetof(Sge, lkey) == offsetof(ibv_sge, lkey));

namespace {

constexpr std::uint32_t bit(Opcode opcode) {
  return 1U << static_cast<std::uint32_t>(opcode);
}

constexpr std::uint32_t kUnreliableDatagram = bit(Opcode::send) | bit(Opcode::send_with_imm);
constexpr std::uint32_t kUnreliable =
    kUnreliableDatagram | bit(Opcode::rdma_write) | bit(Opcode::rdma_write_with_imm);
constexpr std::uint32_t kReliable = kUnreliable | bit(Opcode::rdma_read) |
                                    bit(Opcode::compare_swap) | bit(Opcode::fetch_add) |
                                    bit(Opcode::local_inv) | bit(Opcode::send_with_inv);

// Copies the fields that only some opcodes have.
void write_details(SendRequest& to, const ibv_send_wr& from) {
  switch (to.opcode) {
    case Opcode::rdma_write_with_imm:
      to.immediate = from.imm_data;
      [[fallthrough]];
    case Opcode::rdma_write:
    case Opcode::rdma_read:
      to.remote_address = from.wr.rdma.remote_addr;
      to.rkey = from.wr.rdma.rkey;
      break;
    case Opcode::compare_swap:
      to.swap = from.wr.atomic.swap;
      [[fallthrough]];
    case Opcode::fetch_add:
      to.remote_address = from.wr.atomic.remote_addr;
      to.compare_add = from.wr.atomic.compare_add;
      to.rkey = from.wr.atomic.rkey;
      break;
    case Opcode::send_with_imm:
      to.immediate = from.imm_data;
      break;
    case Opcode::send_with_inv:
    case Opcode::local_inv:
      to.immediate = from.invalidate_rkey;
      break;
    default:
      break;
  }
}

// Copies the bytes that the list names behind the request. Returns false if they exceed the queue's
// limit.
bool write_inline(std::byte* to, const RequestQueue& queue, const ibv_send_wr& from,
                  std::uint32_t& bytes) {
  bytes = 0;
  for (int i = 0; i < from.num_sge; ++i) {
    const ibv_sge& part = from.sg_list[i];
    if (part.length > queue.inline_bytes - bytes) return false;
    if (part.length != 0) {
      std::memcpy(to + bytes, reinterpret_cast<const void*>(part.addr), part.length);
    }
    bytes += part.length;
  }
  return true;
}

constexpr unsigned kFlags =
    send_flag::kFence | send_flag::kSignaled | send_flag::kSolicited | send_flag::kInlined;

// Returns 0 or an errno. The engine checks addresses and keys.
int write_send(Qp& qp, const ibv_send_wr& from, std::uint64_t at) {
  RequestQueue& queue = qp.send;
  if (!allows(qp.type, from.opcode)) return EINVAL;
  if (from.num_sge < 0 || static_cast<std::uint32_t>(from.num_sge) > queue.sges ||
      (from.send_flags & ~kFlags) != 0) {
    return EINVAL;
  }
  if (queue.full(at)) return ENOMEM;
  SendRequest request;
  request.wr_id = from.wr_id;
  request.opcode = static_cast<Opcode>(from.opcode);
  request.flags = from.send_flags;
  write_details(request, from);
  if (qp.type == QpType::xrc_send) request.remote_srqn = from.qp_type.xrc.remote_srqn;
  if (qp.type == QpType::ud) {
    if (from.wr.ud.ah == nullptr) return EINVAL;
    request.destination = ah_of(from.wr.ud.ah).destination;
    request.destination.qpn = from.wr.ud.remote_qpn;
    request.destination.qkey = from.wr.ud.remote_qkey;
  }
  std::byte* const slot = queue.slot(at);
  if ((from.send_flags & IBV_SEND_INLINE) != 0) {
    constexpr std::uint32_t kFetches =
        bit(Opcode::rdma_read) | bit(Opcode::compare_swap) | bit(Opcode::fetch_add);
    if ((bit(request.opcode) & kFetches) != 0 ||
        !write_inline(slot + sizeof(request), queue, from, request.inline_bytes)) {
      return EINVAL;
    }
  } else {
    request.sge_count = static_cast<std::uint32_t>(from.num_sge);
    if (request.sge_count != 0) {
      std::memcpy(slot + sizeof(request), from.sg_list, request.sge_count * sizeof(Sge));
    }
  }
  std::memcpy(slot, &request, sizeof(request));
  return 0;
}

int write_recv(RequestQueue& queue, const ibv_recv_wr& from, std::uint64_t at) {
  if (from.num_sge < 0 || static_cast<std::uint32_t>(from.num_sge) > queue.sges) return EINVAL;
  if (queue.full(at)) return ENOMEM;
  RecvRequest request;
  request.wr_id = from.wr_id;
  request.sge_count = static_cast<std::uint32_t>(from.num_sge);
  std::byte* const slot = queue.slot(at);
  if (request.sge_count != 0) {
    std::memcpy(slot + sizeof(request), from.sg_list, request.sge_count * sizeof(Sge));
  }
  std::memcpy(slot, &request, sizeof(request));
  return 0;
}

int post_receives(EngineLink& link, RequestQueue& queue, ibv_recv_wr* request, ibv_recv_wr** bad) {
  const std::lock_guard lock(queue.mutex);
  int error = 0;
  std::uint64_t at = queue.posted;
  for (; request != nullptr; request = request->next) {
    error = write_recv(queue, *request, at);
    if (error != 0) {
      *bad = request;
      break;
    }
    ++at;
  }
  queue.publish_receives(link, at);
  return error;
}

}  // namespace

bool allows(QpType type, std::uint32_t opcode) {
  if (opcode >= 32) return false;
  switch (type) {
    case QpType::rc:
    case QpType::xrc_send:
      return (kReliable & (1U << opcode)) != 0;
    case QpType::uc:
      return (kUnreliable & (1U << opcode)) != 0;
    case QpType::ud:
      return (kUnreliableDatagram & (1U << opcode)) != 0;
    case QpType::xrc_recv:
      return false;
  }
  return false;
}

int check_send_state(const Qp& qp) {
  if (context_of(qp.qp_base.context).link.gone()) return EIO;
  if (qp.send.ring == nullptr) return qp.send.capacity == 0 ? ENOMEM : EINVAL;
  switch (qp.now.load(std::memory_order_acquire)) {
    case QpState::reset:
    case QpState::init:
    case QpState::rtr:
      return EINVAL;
    default:
      return 0;  // in an error state they are flushed
  }
}

int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) {
  Qp& ours = qp_of(qp);
  int error = check_send_state(ours);
  if (error != 0) {
    *bad = request;
    return error;
  }
  const std::lock_guard lock(ours.send.mutex);
  std::uint64_t at = ours.send.posted;
  for (; request != nullptr; request = request->next) {
    error = write_send(ours, *request, at);
    if (error != 0) {
      *bad = request;
      break;
    }
    ++at;
  }
  ours.send.publish_sends(context_of(qp->context).link, at);
  return error;
}

int post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad) {
  Qp& ours = qp_of(qp);
  EngineLink& link = context_of(qp->context).link;
  int error = 0;
  if (link.gone()) {
    error = EIO;
  } else if (qp->srq != nullptr || ours.recv.ring == nullptr ||
             ours.now.load(std::memory_order_acquire) == QpState::reset) {
    error = EINVAL;
  }
  if (error != 0) {
    *bad = request;
    return error;
  }
  return post_receives(link, ours.recv, request, bad);
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad) {
  EngineLink& link = context_of(srq->context).link;
  if (link.gone()) {
    *bad = request;
    return EIO;
  }
  return post_receives(link, srq_of(srq).queue, request, bad);
}

}  // namespace scela::hca::library
