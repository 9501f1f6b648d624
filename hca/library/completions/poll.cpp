// Takes completions from their rings.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <shared_mutex>

#include "hca/library/completions/completions.h"
#include "hca/library/objects/context.h"
#include "hca/library/objects/srq.h"

namespace scela::hca::library {

namespace {

constexpr std::uint32_t kReceives = done::kReceive;  // set in every opcode of a receive
constexpr std::uint32_t kNobody = ~0U;               // the owner of what forget() dropped

// Frees the requests up to this one. The caller holds the CQ's lock, so no other thread counts.
void free_up_to(RequestQueue& queue, std::uint64_t index) {
  const std::uint64_t end = index + 1;
  if (end > queue.completed.load(std::memory_order_relaxed)) {
    queue.completed.store(end, std::memory_order_release);
  }
}

// Gives the slot of the request back. Returns false if the completion's queue has gone.
bool settle(Cq& cq, const Completion& completion) {
  if (completion.owner == kNobody) return false;
  const bool receives = (completion.opcode & kReceives) != 0;
  if (cq.last != nullptr && cq.last->qp_base.qp_num == completion.qpn &&
      cq.last->qp_base.handle == completion.owner && cq.last->qp_base.srq == nullptr) {
    free_up_to(receives ? cq.last->recv : cq.last->send, completion.queue_index);
    return true;
  }
  const Table& table = context_of(cq.context).table;
  const std::shared_lock lock(table.mutex);
  const auto qp = table.qps.find(completion.owner);
  const bool own = qp != table.qps.end() && qp->second->qp_base.qp_num == completion.qpn &&
                   (!receives || qp->second->qp_base.srq == nullptr);
  if (own) {
    cq.last = qp->second;
    free_up_to(receives ? cq.last->recv : cq.last->send, completion.queue_index);
    return true;
  }
  if (!receives) return false;
  const auto srq = table.srqs.find(completion.owner);
  if (srq == table.srqs.end()) return false;
  // Receives of a shared queue complete in any order, and on several queues at once.
  srq->second->queue.completed.fetch_add(1, std::memory_order_acq_rel);
  return true;
}

void show(ibv_wc& to, const Completion& from) {
  to.wr_id = from.wr_id;
  to.status = static_cast<ibv_wc_status>(from.status);
  to.opcode = static_cast<ibv_wc_opcode>(from.opcode);
  to.vendor_err = from.vendor_error;
  to.byte_len = from.bytes;
  to.imm_data = from.immediate;
  to.qp_num = from.qpn;
  to.src_qp = from.source_qpn;
  to.wc_flags = from.flags;
  to.pkey_index = 0;
  to.slid = from.slid;
  to.sl = static_cast<std::uint8_t>(from.sl);
  to.dlid_path_bits = 0;
}

// Marks the queue pair's entries. Entries that the engine has written and this side has not taken
// belong to this side. The caller holds the CQ's lock.
void forget(Cq& cq, const Qp& qp) {
  cq.last = nullptr;
  const std::uint64_t end = cq.ring->produced.load(std::memory_order_acquire);
  for (std::uint64_t at = cq.taken; at != end; ++at) {
    auto* const entry = const_cast<std::byte*>(cq.entries) + (at & cq.mask) * sizeof(Completion);
    Completion completion;
    std::memcpy(&completion, entry, sizeof(completion));
    if (completion.qpn != qp.qp_base.qp_num || completion.owner == kNobody) continue;
    settle(cq, completion);  // returns a slot of a shared queue
    cq.last = nullptr;
    completion.owner = kNobody;
    std::memcpy(entry, &completion, sizeof(completion));
  }
}

}  // namespace

bool take_next(Cq& cq, Completion& completion) {
  for (;;) {
    if (cq.taken == cq.produced) {
      cq.produced = cq.ring->produced.load(std::memory_order_acquire);
      if (cq.taken == cq.produced) return false;
    }
    std::memcpy(&completion, cq.entries + (cq.taken & cq.mask) * sizeof(Completion),
                sizeof(completion));
    ++cq.taken;
    // The request's memory may be written until its order is over.
    if (completion.status != Status::success) context_of(cq.context).link.settle();
    if (settle(cq, completion)) return true;
  }
}

void give_back(Cq& cq, std::uint64_t from) {
  if (cq.taken == from) return;
  cq.ring->consumed.store(cq.taken, std::memory_order_release);
}

void forget_in(ibv_cq* cq, const Qp& qp) {
  if (cq == nullptr) return;
  const std::lock_guard lock(cq_of(cq).lock);
  forget(cq_of(cq), qp);
}

int poll_cq(ibv_cq* cq, int count, ibv_wc* completions) {
  Cq& ours = cq_of(cq);
  Context& context = context_of(cq->context);
  int filled = 0;
  {
    const std::lock_guard lock(ours.lock);
    const std::uint64_t from = ours.taken;
    Completion completion;
    while (filled < count && take_next(ours, completion))
      show(completions[filled++], completion);
    give_back(ours, from);
    if (filled == 0 && count > 0) {
      if (context.link.gone()) {
        context.link.settle();
        filled = flush(ours, count, completions);
      } else if (ours.ring->broken.load(std::memory_order_acquire) != 0) {
        filled = -1;  // it overran: the engine writes no more
      }
    }
  }
  if (filled > 0) {
    context.poll_sleeper.found_something();
  } else if (filled == 0 && count > 0) {
    context.poll_sleeper.found_nothing(ours, context.link);
  } else if (filled < 0) {
    errno = EIO;
  }
  return filled;
}

int req_notify_cq(ibv_cq* cq, int solicited_only) {
  Cq& ours = cq_of(cq);
  if (context_of(cq->context).link.gone()) return EIO;
  const std::lock_guard lock(ours.lock);
  arm(*ours.ring, solicited_only != 0);
  return 0;
}

}  // namespace scela::hca::library
