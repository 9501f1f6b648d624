// The extended interface of completion queues: ibv_start_poll, ibv_next_poll, ibv_end_poll, and a
// function for each field.
#include <atomic>
#include <cerrno>

#include "hca/library/completions/completions.h"
#include "hca/library/objects/context.h"

namespace scela::hca::library {

namespace {

Cq& of(ibv_cq_ex* cq) {
  return *static_cast<Cq*>(cq);
}

void unlock(Cq& cq) {
  if (!cq.single_threaded) cq.lock.unlock();
}

void from_public(Completion& to, const ibv_wc& from) {
  to = {};
  to.wr_id = from.wr_id;
  to.status = static_cast<Status>(from.status);
  to.opcode = from.opcode;
  to.qpn = from.qp_num;
}

// Returns 0, ENOENT if there is no completion now, or EIO if there will be none.
int advance(Cq& cq) {
  if (!take_next(cq, cq.current)) {
    if (context_of(cq.context).link.gone()) {
      context_of(cq.context).link.settle();
      ibv_wc flushed;
      if (flush(cq, 1, &flushed) < 0) return EIO;
      from_public(cq.current, flushed);
    } else {
      return cq.ring->broken.load(std::memory_order_acquire) != 0 ? EIO : ENOENT;
    }
  }
  cq.wr_id = cq.current.wr_id;
  cq.status = static_cast<ibv_wc_status>(cq.current.status);
  return 0;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
  Cq& ours = of(cq);
  Context& context = context_of(cq->context);
  if (attributes != nullptr && attributes->comp_mask != 0) return EINVAL;
  if (!ours.single_threaded) ours.lock.lock();
  ours.polled_from = ours.taken;
  const int error = advance(ours);
  if (error == 0) {
    context.poll_sleeper.found_something();
    return 0;  // locked until end_poll
  }
  give_back(ours, ours.polled_from);
  unlock(ours);
  if (error == ENOENT) context.poll_sleeper.found_nothing(ours, context.link);
  return error;
}

int next_poll(ibv_cq_ex* cq) {
  return advance(of(cq));
}

void end_poll(ibv_cq_ex* cq) {
  give_back(of(cq), of(cq).polled_from);
  unlock(of(cq));
}

ibv_wc_opcode read_opcode(ibv_cq_ex* cq) {
  return static_cast<ibv_wc_opcode>(of(cq).current.opcode);
}

std::uint32_t read_vendor_err(ibv_cq_ex* cq) {
  return of(cq).current.vendor_error;
}

std::uint32_t read_byte_len(ibv_cq_ex* cq) {
  return of(cq).current.bytes;
}

__be32 read_imm_data(ibv_cq_ex* cq) {
  return of(cq).current.immediate;
}

std::uint32_t read_qp_num(ibv_cq_ex* cq) {
  return of(cq).current.qpn;
}

std::uint32_t read_src_qp(ibv_cq_ex* cq) {
  return of(cq).current.source_qpn;
}

unsigned read_wc_flags(ibv_cq_ex* cq) {
  return of(cq).current.flags;
}

std::uint32_t read_slid(ibv_cq_ex* cq) {
  return of(cq).current.slid;
}

std::uint8_t read_sl(ibv_cq_ex* cq) {
  return static_cast<std::uint8_t>(of(cq).current.sl);
}

std::uint8_t read_dlid_path_bits(ibv_cq_ex*) {
  return 0;
}

}  // namespace

void offer_polling(Cq& cq, std::uint64_t fields) {
  const auto offered = [&](std::uint64_t flag) { return (fields & flag) != 0; };
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = read_opcode;
  cq.read_vendor_err = read_vendor_err;
  cq.read_wc_flags = read_wc_flags;
  if (offered(IBV_WC_EX_WITH_BYTE_LEN)) cq.read_byte_len = read_byte_len;
  if (offered(IBV_WC_EX_WITH_IMM)) cq.read_imm_data = read_imm_data;
  if (offered(IBV_WC_EX_WITH_QP_NUM)) cq.read_qp_num = read_qp_num;
  if (offered(IBV_WC_EX_WITH_SRC_QP)) cq.read_src_qp = read_src_qp;
  if (offered(IBV_WC_EX_WITH_SLID)) cq.read_slid = read_slid;
  if (offered(IBV_WC_EX_WITH_SL)) cq.read_sl = read_sl;
  if (offered(IBV_WC_EX_WITH_DLID_PATH_BITS)) cq.read_dlid_path_bits = read_dlid_path_bits;
}

}  // namespace scela::hca::library
