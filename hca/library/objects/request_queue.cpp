#include "hca/library/objects/request_queue.h"

#include <algorithm>

namespace scela::hca::library {

bool RequestQueue::map(EngineLink& link, const Region& where, std::uint32_t slots,
                       std::uint32_t bytes_apart, std::size_t header) {
  if (where.bytes == 0) return true;
  const std::size_t data = std::max(sges * sizeof(Sge), static_cast<std::size_t>(inline_bytes));
  if (slots == 0 || (slots & (slots - 1)) != 0 || slots < capacity || bytes_apart < header + data ||
      bytes_apart % alignof(SendRequest) != 0) {
    return false;
  }
  std::byte* const base =
      link.at(where, kEntriesOffset + static_cast<std::uint64_t>(slots) * bytes_apart);
  if (base == nullptr) return false;
  ring = reinterpret_cast<RequestRing*>(base);
  region = where;
  entries = base + kEntriesOffset;
  mask = slots - 1;
  stride = bytes_apart;
  return true;
}

}  // namespace scela::hca::library
