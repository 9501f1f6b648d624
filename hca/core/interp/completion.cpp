// Completions and events: how the engine tells a process of results.
#include <algorithm>
#include <tuple>

#include "hca/core/model/state.h"
#include "hca/core/wire/doorbells.h"

namespace scela::hca {
namespace {

// The number of completions that a strict engine holds back. Beyond it, it reports all of them at
// once.
constexpr std::size_t kMaxHeld = 1024;

}  // namespace

void Engine::State::complete(std::uint32_t number, const Completion& completion, bool solicited) {
  if (settings.seed == 0) {
    tell(number, completion, solicited);
    return;
  }
  if (held.size() >= kMaxHeld) release_some(true);
  held.push_back({number, completion, solicited});
}

// Reports held completions. Those of one queue stay in their order; the order between queues is
// random.
void Engine::State::release_some(bool all) {
  const auto key = [](const Held& one) {
    return std::tuple(one.cq, one.completion.owner, one.completion.opcode & done::kReceive);
  };
  while (!held.empty() && (all || !random.chance(1, 4))) {
    const auto drawn = key(held[random.below(held.size())]);
    const auto first =
        std::find_if(held.begin(), held.end(), [&](const Held& one) { return key(one) == drawn; });
    const Held one = *first;
    held.erase(first);
    tell(one.cq, one.completion, one.solicited);
  }
}

// Reports the held completions of the queue pair's receives at once, in order.
void Engine::State::release_receives(const Qp& qp) {
  std::vector<Held> released;
  std::erase_if(held, [&](const Held& one) {
    const bool is_receive = (one.completion.opcode & done::kReceive) != 0;
    if (one.completion.qpn != qp.handle || !is_receive) return false;
    released.push_back(one);
    return true;
  });
  for (const Held& one : released)
    tell(one.cq, one.completion, one.solicited);
}

void Engine::State::tell(std::uint32_t number, const Completion& completion, bool solicited) {
  Cq* cq = cqs.find(number);
  const auto owner = cq ? processes.find(cq->owner) : processes.end();
  if (owner == processes.end()) return;
  CompletionRing& ring = *cq->ring;
  const std::uint64_t consumed = ring.consumed.load(std::memory_order_acquire);
  if (cq->broken) return;
  if (cq->produced - consumed >= cq->entries && !cq->ignore_overrun) {
    cq->broken = true;
    ring.broken.store(1, std::memory_order_seq_cst);
    event(cq->owner, EventType::cq_error, cq->cookie);
    return;
  }
  auto* entries =
      reinterpret_cast<Completion*>(reinterpret_cast<std::byte*>(&ring) + kEntriesOffset);
  entries[cq->produced & (cq->entries - 1)] = completion;
  ++cq->produced;
  // The process uses these fields in the other order: it arms or sleeps, then looks at `produced`.
  show_completions(ring, cq->produced);
  Traffic& traffic = owner->second.traffic;
  ++traffic.completions;
  if (completion.status == Status::success && completion.opcode >= done::kReceive &&
      completion.opcode <= done::kReceiveRdmaWithImm) {
    ++traffic.received;
    traffic.received_bytes += completion.bytes;
  }
  if (trace_sink) trace_sink->completed(cq->owner, completion);
  if (take_watch(ring)) {
    ++traffic.wakes;
    host.wake(cq->owner);
    if (trace_sink) trace_sink->woken(cq->owner);
  }

  if (take_arming(ring, solicited || completion.status != Status::success)) {
    ++traffic.events;
    host.completion_event(cq->owner, cq->channel, cq->cookie);
  }

  const std::set<std::uint32_t> parked = std::move(cq->parked);
  cq->parked.clear();
  for (const std::uint32_t number_of_qp : parked)
    if (Qp* qp = qps.find(number_of_qp)) schedule(*qp);
}

void Engine::State::event(ProcessId process, EventType type, std::uint64_t cookie) {
  if (const auto found = processes.find(process); found != processes.end())
    ++found->second.traffic.events;
  host.async_event(process, AsyncEvent{type, 0, cookie});
}

void Engine::State::event(const Qp& qp, EventType type) {
  if (qp.type != QpType::xrc_recv) return event(qp.owner, type, qp.cookie);
  for (const Qp::Holder& holder : qp.holders)
    event(holder.process, type, holder.cookie);
}

}  // namespace scela::hca
