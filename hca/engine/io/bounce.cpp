#include "hca/engine/io/bounce.h"

#include <cstring>
#include <new>

#include "common/os/futex.h"

namespace scela::hca {

OrderSender::OrderSender(const Host::Shared& area)
    : region_(area.region),
      queue_(*new (area.base) OrderQueue),
      data_(area.base + kOrderDataOffset) {}

// A slot that was forgotten is free once the process has passed its place in the queue.
std::optional<std::uint32_t> OrderSender::free_slot() {
  const std::uint64_t carried = queue_.carried.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < kOrders; ++i) {
    Slot& slot = slots_[i];
    if (slot.use == Use::forgotten && carried >= slot.ticket) slot.use = Use::free;
    if (slot.use == Use::free) return i;
  }
  return std::nullopt;
}

Ticket OrderSender::order(const RemoteMemoryOp& order, std::span<const std::byte> bytes) {
  const auto free = free_slot();
  if (!free || order.bytes > kOrderBytes || bytes.size() > kOrderBytes) return 0;
  if (!bytes.empty()) std::memcpy(data(*free), bytes.data(), bytes.size());
  OrderSlot& shared = queue_.orders[*free];
  shared.order = order;
  shared.state.store(OrderState::waits, std::memory_order_release);
  queue_.slots[posted_ % kOrders].store(*free, std::memory_order_relaxed);
  ++posted_;
  slots_[*free] = {Use::waited_for, posted_, order.kind, order.bytes};
  queue_.posted.store(posted_, std::memory_order_seq_cst);
  // The process first sets `asleep`, then reads `posted`.
  if (queue_.asleep.load(std::memory_order_seq_cst) != 0 && queue_.asleep.exchange(0) != 0) {
    queue_.doorbell.fetch_add(1, std::memory_order_seq_cst);
    futex_wake(reinterpret_cast<const std::uint32_t*>(&queue_.doorbell));
  }
  return posted_;
}

Transfer OrderSender::collect(Ticket ticket, std::span<std::byte> to) {
  for (std::uint32_t i = 0; i < kOrders; ++i) {
    Slot& slot = slots_[i];
    if (slot.use != Use::waited_for || slot.ticket != ticket) continue;
    switch (queue_.orders[i].state.load(std::memory_order_acquire)) {
      case OrderState::waits:
      case OrderState::begun:
        return Transfer::later;
      case OrderState::done:
        break;
      default:
        slot.use = Use::forgotten;
        return Transfer::refused;
    }
    if (slot.kind != OrderKind::store && to.size() <= slot.bytes)
      std::memcpy(to.data(), data(i), to.size());
    // The slot is free once the process has counted its order as carried out, which is its next
    // step.
    slot.use = Use::forgotten;
    return Transfer::done;
  }
  return Transfer::refused;
}

void OrderSender::forget(Ticket ticket) {
  for (std::uint32_t i = 0; i < kOrders; ++i) {
    Slot& slot = slots_[i];
    if (slot.use != Use::waited_for || slot.ticket != ticket) continue;
    OrderState waits = OrderState::waits;
    queue_.orders[i].state.compare_exchange_strong(waits, OrderState::cancelled);
    slot.use = Use::forgotten;
    return;
  }
}

}  // namespace scela::hca
