// Gives orders to a process if the kernel does not let the engine access its memory. An order is a
// request that the process copies bytes for the engine, through an area that both map
// (hca/core/wire/shared_layout.h). Machine has one Bounce for each such process, and calls it on
// the engine's thread.
//
// The process may write anything to the area. So the values that matter are kept here, and each
// state is read once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "hca/core/model/host.h"

namespace scela::hca {

// The orders of one process; at most kOrders are given and not over.
class OrderSender {
 public:
  // `area` is kOrderAreaBytes of zeros that the process also maps. It must stay mapped as long as
  // this object exists.
  explicit OrderSender(const Host::Shared& area);

  // Returns the area, as the process finds it.
  const Region& region() const { return region_; }

  // Gives an order, with the bytes to store if it is a `store`. Returns its number, or 0 if there
  // is no free slot or it is longer than kOrderBytes. It wakes the process's thread and does not
  // block.
  Ticket order(const RemoteMemoryOp& order, std::span<const std::byte> bytes);
  // Returns `later` as long as the order is not over, and otherwise `done` or `refused`; the ticket
  // is then invalid. If `done`, copies what a fetch or an atomic operation has read to `to`.
  Transfer collect(Ticket ticket, std::span<std::byte> to);
  // Drops the order, because its result is not needed. If the process has not begun it, it is
  // cancelled. An unknown ticket is ignored.
  void forget(Ticket ticket);

 private:
  // The use of a slot. `waited_for`: its result is to be collected. `forgotten`: its result was
  // collected or is not needed, but the process may still execute its order.
  enum class Use : std::uint8_t { free, waited_for, forgotten };
  struct Slot {
    Use use = Use::free;
    // Its order's number, counted from 1.
    Ticket ticket = 0;
    OrderKind kind = OrderKind::fetch;
    std::uint64_t bytes = 0;
  };
  // Returns the number of a free slot, or std::nullopt if there is none now.
  std::optional<std::uint32_t> free_slot();
  // Returns the data of the slot with this number, kOrderBytes bytes.
  std::byte* data(std::uint32_t slot) const { return data_ + slot * kOrderBytes; }

  Region region_;
  OrderQueue& queue_;
  std::byte* data_;
  std::array<Slot, kOrders> slots_;
  std::uint64_t posted_ = 0;  // orders that were given
};

}  // namespace scela::hca
