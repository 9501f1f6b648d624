// The extended interface of send queues: ibv_wr_start, a function for each kind of request, and
// ibv_wr_complete.
//
// A function writes straight into the queue's memory. The engine sees the requests only after
// ibv_wr_complete. The queue is locked from start to complete or abort.
#include <cerrno>
#include <cstring>

#include "hca/library/objects/context.h"
#include "hca/library/objects/domains.h"
#include "hca/library/requests/requests.h"

namespace scela::hca::library {

namespace {

Qp& of(ibv_qp_ex* qp) {
  return *static_cast<Qp*>(qp);
}

// Ends the request that is being built.
void close_request(Qp& qp) {
  if (qp.building_at == nullptr) return;
  std::memcpy(qp.building_at, &qp.building, sizeof(qp.building));
  qp.building_at = nullptr;
  ++qp.built;
}

// Begins a request. Returns null if a call has failed since wr_start.
SendRequest* open_request(ibv_qp_ex* shown, Opcode opcode) {
  Qp& qp = of(shown);
  if (qp.build_error != 0) return nullptr;
  close_request(qp);
  if (qp.send.full(qp.built)) {
    qp.build_error = ENOMEM;
    return nullptr;
  }
  qp.building = {};
  qp.building.wr_id = shown->wr_id;
  qp.building.opcode = opcode;
  qp.building.flags =
      shown->wr_flags & (send_flag::kFence | send_flag::kSignaled | send_flag::kSolicited);
  qp.building_at = qp.send.slot(qp.built);
  return &qp.building;
}

void open_remote(ibv_qp_ex* qp, Opcode opcode, std::uint32_t rkey, std::uint64_t address,
                 std::uint32_t immediate = 0) {
  SendRequest* const request = open_request(qp, opcode);
  if (request == nullptr) return;
  request->rkey = rkey;
  request->remote_address = address;
  request->immediate = immediate;
}

void open_send(ibv_qp_ex* qp, Opcode opcode, std::uint32_t immediate) {
  SendRequest* const request = open_request(qp, opcode);
  if (request != nullptr) request->immediate = immediate;
}

void wr_atomic_cmp_swp(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address,
                       std::uint64_t compare, std::uint64_t swap) {
  open_remote(qp, Opcode::compare_swap, rkey, address);
  of(qp).building.compare_add = compare;
  of(qp).building.swap = swap;
}

void wr_atomic_fetch_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address,
                         std::uint64_t add) {
  open_remote(qp, Opcode::fetch_add, rkey, address);
  of(qp).building.compare_add = add;
}

void wr_local_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  open_send(qp, Opcode::local_inv, rkey);
}

void wr_rdma_read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
  open_remote(qp, Opcode::rdma_read, rkey, address);
}

void wr_rdma_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
  open_remote(qp, Opcode::rdma_write, rkey, address);
}

void wr_rdma_write_imm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, __be32 immediate) {
  open_remote(qp, Opcode::rdma_write_with_imm, rkey, address, immediate);
}

void wr_send(ibv_qp_ex* qp) {
  open_send(qp, Opcode::send, 0);
}

void wr_send_imm(ibv_qp_ex* qp, __be32 immediate) {
  open_send(qp, Opcode::send_with_imm, immediate);
}

void wr_send_inv(ibv_qp_ex* qp, std::uint32_t rkey) {
  open_send(qp, Opcode::send_with_inv, rkey);
}

// Returns the request that is being built, or null if there is none.
SendRequest* current(ibv_qp_ex* qp) {
  Qp& ours = of(qp);
  return ours.build_error != 0 || ours.building_at == nullptr ? nullptr : &ours.building;
}

void wr_set_ud_addr(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
  SendRequest* const request = current(qp);
  if (request == nullptr) return;
  if (ah == nullptr) {
    of(qp).build_error = EINVAL;
    return;
  }
  request->destination = ah_of(ah).destination;
  request->destination.qpn = qpn;
  request->destination.qkey = qkey;
}

void wr_set_xrc_srqn(ibv_qp_ex* qp, std::uint32_t number) {
  SendRequest* const request = current(qp);
  if (request != nullptr) request->remote_srqn = number;
}

void wr_set_inline_data_list(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* parts) {
  Qp& ours = of(qp);
  SendRequest* const request = current(qp);
  if (request == nullptr) return;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (parts[i].length > ours.send.inline_bytes - bytes) {
      ours.build_error = EINVAL;
      return;
    }
    if (parts[i].length != 0) {
      std::memcpy(ours.building_at + sizeof(*request) + bytes, parts[i].addr, parts[i].length);
    }
    bytes += parts[i].length;
  }
  request->flags |= send_flag::kInlined;
  request->sge_count = 0;
  request->inline_bytes = static_cast<std::uint32_t>(bytes);
}

void wr_set_inline_data(ibv_qp_ex* qp, void* address, std::size_t length) {
  const ibv_data_buf part{address, length};
  wr_set_inline_data_list(qp, 1, &part);
}

void wr_set_sge_list(ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) {
  Qp& ours = of(qp);
  SendRequest* const request = current(qp);
  if (request == nullptr) return;
  if (count > ours.send.sges) {
    ours.build_error = EINVAL;
    return;
  }
  request->sge_count = static_cast<std::uint32_t>(count);
  if (count != 0) {
    std::memcpy(ours.building_at + sizeof(*request), list, count * sizeof(Sge));
  }
}

void wr_set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
  const ibv_sge part{address, length, lkey};
  wr_set_sge_list(qp, 1, &part);
}

void wr_start(ibv_qp_ex* qp) {
  Qp& ours = of(qp);
  ours.send.mutex.lock();
  ours.built = ours.send.posted;
  ours.building_at = nullptr;
  ours.build_error = check_send_state(ours);
}

int wr_complete(ibv_qp_ex* qp) {
  Qp& ours = of(qp);
  const int error = ours.build_error;
  if (error == 0) {
    close_request(ours);
    ours.send.publish_sends(context_of(qp->qp_base.context).link, ours.built);
  }
  ours.building_at = nullptr;
  ours.send.mutex.unlock();
  return error;
}

void wr_abort(ibv_qp_ex* qp) {
  of(qp).building_at = nullptr;
  of(qp).send.mutex.unlock();
}

}  // namespace

int offer_work_requests(Qp& qp, std::uint64_t operations) {
  // The bit of an operation in IBV_QP_EX_WITH_* is 1 << its opcode.
  for (std::uint32_t opcode = 0; opcode < 64; ++opcode) {
    if ((operations >> opcode & 1) != 0 && !allows(qp.type, opcode)) return EOPNOTSUPP;
  }
  const auto offered = [&](std::uint64_t flag) { return (operations & flag) != 0; };
  if (offered(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)) qp.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
  if (offered(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)) qp.wr_atomic_fetch_add = wr_atomic_fetch_add;
  if (offered(IBV_QP_EX_WITH_LOCAL_INV)) qp.wr_local_inv = wr_local_inv;
  if (offered(IBV_QP_EX_WITH_RDMA_READ)) qp.wr_rdma_read = wr_rdma_read;
  if (offered(IBV_QP_EX_WITH_RDMA_WRITE)) qp.wr_rdma_write = wr_rdma_write;
  if (offered(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)) qp.wr_rdma_write_imm = wr_rdma_write_imm;
  if (offered(IBV_QP_EX_WITH_SEND)) qp.wr_send = wr_send;
  if (offered(IBV_QP_EX_WITH_SEND_WITH_IMM)) qp.wr_send_imm = wr_send_imm;
  if (offered(IBV_QP_EX_WITH_SEND_WITH_INV)) qp.wr_send_inv = wr_send_inv;
  if (qp.type == QpType::ud) qp.wr_set_ud_addr = wr_set_ud_addr;
  if (qp.type == QpType::xrc_send) qp.wr_set_xrc_srqn = wr_set_xrc_srqn;
  qp.wr_set_inline_data = wr_set_inline_data;
  qp.wr_set_inline_data_list = wr_set_inline_data_list;
  qp.wr_set_sge = wr_set_sge;
  qp.wr_set_sge_list = wr_set_sge_list;
  qp.wr_start = wr_start;
  qp.wr_complete = wr_complete;
  qp.wr_abort = wr_abort;
  return 0;
}

}  // namespace scela::hca::library
