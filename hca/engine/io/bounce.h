// Sends orders to a process if the kernel does not let the engine access its memory. The bytes go
// through an area that both map (hca/core/wire/layout.h). Machine has one Bounce for each such
// process, and calls it on the engine's thread.
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

class Bounce {
 public:
  // `area` is kOrderAreaBytes of zeros that the process also maps.
  explicit Bounce(const Host::Shared& area);

  const Region& region() const { return region_; }

  // These three work as the functions of Host do. Their contract is in hca/core/model/host.h.
  Ticket order(const RemoteMemoryOp& order, std::span<const std::byte> bytes);
  Transfer collect(Ticket ticket, std::span<std::byte> to);
  void forget(Ticket ticket);

 private:
  // `waited_for`: its result is to be collected. `forgotten`: its result was collected or is not
  // needed, but the process may still execute its order.
  enum class Use : std::uint8_t { free, waited_for, forgotten };
  struct Slot {
    Use use = Use::free;
    Ticket ticket = 0;  // its place in the queue, from 1
    OrderKind kind = OrderKind::fetch;
    std::uint64_t bytes = 0;
  };
  // Returns the number of a free slot, or std::nullopt if there is none now.
  std::optional<std::uint32_t> free_slot();
  std::byte* data(std::uint32_t slot) const { return data_ + slot * kOrderBytes; }

  Region region_;
  OrderQueue& queue_;
  std::byte* data_;
  std::array<Slot, kOrders> slots_;
  std::uint64_t posted_ = 0;
};

}  // namespace scela::hca
