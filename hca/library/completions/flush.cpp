// After the engine has gone, the requests in the queues complete as flushed.
#include <atomic>
#include <cstring>
#include <mutex>
#include <shared_mutex>

#include "hca/library/completions/completions.h"
#include "hca/library/objects/context.h"
#include "hca/library/objects/srq.h"

namespace scela::hca::library {

namespace {

// Returns the completion opcode for the request in the slot.
std::uint32_t opcode_of(const std::byte* slot, bool receives) {
  if (receives) return done::kReceive;
  SendRequest request;
  std::memcpy(&request, slot, sizeof(request));
  return done_of(request.opcode);
}

int flush_queue(RequestQueue& queue, std::uint32_t qpn, bool receives, int count, ibv_wc* to) {
  if (queue.ring == nullptr) return 0;
  const std::lock_guard lock(queue.mutex);
  std::uint64_t at = queue.completed.load(std::memory_order_acquire);
  int filled = 0;
  for (; filled < count && at != queue.posted; ++at, ++filled) {
    const std::byte* const slot = queue.slot(at);
    std::uint64_t wr_id = 0;  // the first field of either request
    std::memcpy(&wr_id, slot, sizeof(wr_id));
    ibv_wc& wc = to[filled];
    wc = {};
    wc.wr_id = wr_id;
    wc.status = IBV_WC_WR_FLUSH_ERR;
    wc.opcode = static_cast<ibv_wc_opcode>(opcode_of(slot, receives));
    wc.qp_num = qpn;
  }
  queue.completed.store(at, std::memory_order_release);
  return filled;
}

}  // namespace

static_assert(offsetof(SendRequest, wr_id) == 0 && offsetof(RecvRequest, wr_id) == 0);

int flush(Cq& cq, int count, ibv_wc* completions) {
  const Table& table = context_of(cq.context).table;
  const std::shared_lock lock(table.mutex);
  const ibv_cq* const shown = public_of(cq);
  int filled = 0;
  for (const auto& [handle, qp] : table.qps) {
    const std::uint32_t qpn = qp->qp_base.qp_num;
    if (qp->qp_base.send_cq == shown) {
      filled += flush_queue(qp->send, qpn, false, count - filled, completions + filled);
    }
    if (qp->qp_base.recv_cq != shown) continue;
    RequestQueue& receives = qp->qp_base.srq == nullptr ? qp->recv : srq_of(qp->qp_base.srq).queue;
    filled += flush_queue(receives, qpn, true, count - filled, completions + filled);
  }
  for (const auto& [handle, srq] : table.srqs) {
    if (srq->cq != &cq) continue;
    filled += flush_queue(srq->queue, 0, true, count - filled, completions + filled);
  }
  return filled > 0 ? filled : -1;
}

}  // namespace scela::hca::library
