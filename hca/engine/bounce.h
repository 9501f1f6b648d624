// Orders to a process whose memory the kernel does not let the engine reach, and the area through
// which their bytes go (hca/core/layout.h).
//
// The process may write what it likes there: what counts is kept here, and each state is read once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "hca/core/host.h"

namespace scela::hca {

class Bounce {
 public:
  // On kOrderAreaBytes of zeros that the process maps.
  explicit Bounce(const Host::Shared& area);

  const Region& region() const { return region_; }

  // As Host's.
  Ticket order(const Order& order, std::span<const std::byte> bytes);
  Transfer collect(Ticket ticket, std::span<std::byte> to);
  void forget(Ticket ticket);

 private:
  enum class Use : std::uint8_t { free, waited_for, forgotten };
  struct Slot {
    Use use = Use::free;
    Ticket ticket = 0;  // its place in the queue, counted from 1
    OrderKind kind = OrderKind::fetch;
    std::uint64_t bytes = 0;
  };
  std::optional<std::uint32_t> free_slot();
  std::byte* data(std::uint32_t slot) const { return data_ + slot * kOrderBytes; }

  Region region_;
  OrderQueue& queue_;
  std::byte* data_;
  std::array<Slot, kOrders> slots_;
  std::uint64_t posted_ = 0;
};

}  // namespace scela::hca
