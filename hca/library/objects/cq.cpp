#include "hca/library/objects/cq.h"

#include <atomic>

namespace scela::hca::library {

bool Cq::map(EngineLink& link, const Region& where, std::uint32_t count) {
  if (count == 0 || (count & (count - 1)) != 0) return false;
  std::byte* const base = link.at(where, kEntriesOffset + count * sizeof(Completion));
  if (base == nullptr) return false;
  ring = reinterpret_cast<CompletionRing*>(base);
  region = where;
  entries = base + kEntriesOffset;
  mask = count - 1;
  taken = ring->consumed.load(std::memory_order_acquire);
  produced = taken;
  cqe = static_cast<int>(count);
  return true;
}

}  // namespace scela::hca::library
