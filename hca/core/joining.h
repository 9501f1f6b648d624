// What a process tells its engine of their job (scela_hca_join), beside what messages.h has: one
// datagram, answered with an Answer whose error alone counts. The process keeps the connection: the
// engine stays at least until it ends.
//
// Errors: EINVAL (the record says what cannot be), EEXIST (the engine is of another job), EBUSY
// (programs use it already, and it is of no job), EADDRNOTAVAIL (it cannot listen there).
#pragma once

#include <cstdint>
#include <type_traits>

#include "hca/core/messages.h"

namespace scela::hca {

inline constexpr std::uint64_t kJoinMagic = kLayoutMagic + 2;

// Neither as long as an Ask nor as a StatusAsk.
struct JoinAsk {
  std::uint64_t magic = kJoinMagic;
  std::uint32_t version = kLayoutVersion;
  std::uint32_t length = 0;
  char record[1008] = {};  // lines, as --fabric-fd is told (hca/engine/fabric_record.h)
};
static_assert(std::is_trivially_copyable_v<JoinAsk> && sizeof(JoinAsk) == 1024 &&
              sizeof(JoinAsk) > sizeof(Ask));

}  // namespace scela::hca
