#include "hca/core/control/ring_memory.h"

#include <algorithm>
#include <bit>
#include <new>

namespace scela::hca {

bool make_ring(SharedMemory& memory, ProcessId process, std::uint32_t requests,
               std::uint32_t stride, Ring& ring) {
  ring.slots = std::bit_ceil(std::max(requests, 1U));
  ring.stride = (stride + 63) / 64 * 64;
  const SharedMemory::Shared shared =
      memory.allocate(process, kEntriesOffset + std::uint64_t{ring.slots} * ring.stride);
  if (!shared.base) return false;
  ring.head = new (shared.base) RequestRing;
  ring.entries = shared.base + kEntriesOffset;
  ring.region = shared.region;
  return true;
}

bool make_receive_ring(SharedMemory& memory, ProcessId process, std::uint32_t requests,
                       std::uint32_t sges, Ring& ring) {
  ring.sges = std::max(sges, 1U);
  const auto stride = static_cast<std::uint32_t>(sizeof(RecvRequest) + ring.sges * sizeof(Sge));
  return make_ring(memory, process, requests, stride, ring);
}

}  // namespace scela::hca
