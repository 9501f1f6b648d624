// The message with which a process tells its engine about their job (scela_hca_join), in addition
// to messages.h. It is one datagram; of the Answer only the error counts. The process keeps the
// connection open, and the engine stays at least until the process ends.
//
// Errors: EINVAL (the record has an impossible value), EEXIST (the engine belongs to another job),
// EBUSY (programs use it already, and it belongs to no job), EADDRNOTAVAIL (it cannot listen at
// that address).
#pragma once

#include <cstdint>
#include <type_traits>

#include "hca/core/wire/messages.h"

namespace scela::hca {

inline constexpr std::uint64_t kJoinMagic = kLayoutMagic + 2;

// Its size differs from that of an Ask and of a StatusAsk.
struct JoinAsk {
  std::uint64_t magic = kJoinMagic;
  std::uint32_t version = kLayoutVersion;
  std::uint32_t length = 0;
  // Lines in the format of --fabric-fd (hca/engine/net/fabric_record.h).
  char record[1008] = {};
};
static_assert(std::is_trivially_copyable_v<JoinAsk> && sizeof(JoinAsk) == 1024 &&
              sizeof(JoinAsk) > sizeof(Ask));

}  // namespace scela::hca
