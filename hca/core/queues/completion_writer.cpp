#include "hca/core/queues/completion_writer.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "hca/core/wire/doorbells.h"

namespace scela::hca {
namespace {

// The number of completions that a strict engine holds back. Beyond it, it reports all of them at
// once.
constexpr std::size_t kMaxHeld = 1024;

}  // namespace

void CompletionWriter::complete(std::uint32_t number, const Completion& completion,
                                bool solicited) {
  if (!is_strict_) {
    write(number, completion, solicited);
    return;
  }
  if (held_.size() >= kMaxHeld) release_some(true);
  held_.push_back({number, completion, solicited});
}

void CompletionWriter::complete_send(Qp& qp, const Outgoing& out, Status status) {
  if (status == Status::success) {
    ++qp.traffic.executed;
    qp.traffic.sent_bytes += out.bytes;
  } else {
    ++qp.traffic.failed;
  }
  trace_.report_executed(qp, out, status);
  if (status == Status::success && !qp.signal_all &&
      (out.request.flags & send_flag::kSignaled) == 0)
    return;
  Completion completion;
  completion.wr_id = out.request.wr_id;
  completion.queue_index = out.index;
  completion.status = status;
  completion.opcode = done_of(out.request.opcode);
  completion.bytes = static_cast<std::uint32_t>(out.bytes);
  completion.qpn = qp.handle;
  completion.owner = qp.handle;
  complete(qp.send_cq, completion, false);
}

// The completions of one queue stay in their order; the order between queues is random.
void CompletionWriter::release_some(bool all) {
  const auto key = [](const Held& one) {
    return std::tuple(one.cq, one.completion.owner, one.completion.opcode & done::kReceive);
  };
  while (!held_.empty() && (all || !random_.chance(1, 4))) {
    const auto drawn = key(held_[random_.below(held_.size())]);
    const auto first = std::find_if(held_.begin(), held_.end(),
                                    [&](const Held& one) { return key(one) == drawn; });
    const Held one = *first;
    held_.erase(first);
    write(one.cq, one.completion, one.solicited);
  }
}

void CompletionWriter::release_receives(const Qp& qp) {
  std::vector<Held> released;
  std::erase_if(held_, [&](const Held& one) {
    const bool is_receive = (one.completion.opcode & done::kReceive) != 0;
    if (one.completion.qpn != qp.handle || !is_receive) return false;
    released.push_back(one);
    return true;
  });
  for (const Held& one : released)
    write(one.cq, one.completion, one.solicited);
}

void CompletionWriter::write(std::uint32_t number, const Completion& completion, bool solicited) {
  Cq* cq = objects_.find<Cq>(number);
  Attached* const owner = cq ? objects_.find_process(cq->owner) : nullptr;
  if (!owner) return;
  CompletionRing& ring = *cq->ring;
  const std::uint64_t consumed = ring.consumed.load(std::memory_order_acquire);
  if (cq->broken) return;
  if (cq->produced - consumed >= cq->entries && !cq->ignore_overrun) {
    cq->broken = true;
    ring.broken.store(1, std::memory_order_seq_cst);
    send_event(cq->owner, EventType::cq_error, cq->cookie);
    return;
  }
  auto* entries =
      reinterpret_cast<Completion*>(reinterpret_cast<std::byte*>(&ring) + kEntriesOffset);
  entries[cq->produced & (cq->entries - 1)] = completion;
  ++cq->produced;
  // The process uses these fields in the other order: it arms or sleeps, then looks at `produced`.
  show_completions(ring, cq->produced);
  Traffic& traffic = owner->traffic;
  ++traffic.completions;
  if (completion.status == Status::success && completion.opcode >= done::kReceive &&
      completion.opcode <= done::kReceiveRdmaWithImm) {
    ++traffic.received;
    traffic.received_bytes += completion.bytes;
  }
  trace_.report_completed(cq->owner, completion);
  if (take_watch(ring)) {
    ++traffic.wakes;
    notices_.wake(cq->owner);
    trace_.report_woken(cq->owner);
  }

  if (take_arming(ring, solicited || completion.status != Status::success)) {
    ++traffic.events;
    notices_.completion_event(cq->owner, cq->channel, cq->cookie);
  }

  const std::set<std::uint32_t> parked = std::move(cq->parked);
  cq->parked.clear();
  scheduler_.schedule_all(parked);
}

void CompletionWriter::send_event(ProcessId process, EventType type, std::uint64_t cookie) {
  if (Attached* const found = objects_.find_process(process)) ++found->traffic.events;
  notices_.async_event(process, AsyncEvent{type, 0, cookie});
}

void CompletionWriter::send_event(const Qp& qp, EventType type) {
  if (qp.type != QpType::xrc_recv) return send_event(qp.owner, type, qp.cookie);
  for (const Qp::Holder& holder : qp.holders)
    send_event(holder.process, type, holder.cookie);
}

}  // namespace scela::hca
