// The message with which a process tells its engine to which job and node they belong
// (scela_hca_join), in addition to the messages of engine_messages.h. The library sends one JoinAsk
// as a datagram. The engine answers with an Answer, of which only the error counts. The process
// keeps the connection open, and the engine runs at least until the process ends.
//
//   EINVAL         the record has an impossible value
//   EEXIST         the engine belongs to another job, or it is too late to encrypt
//   EBUSY          programs use the engine already, and it belongs to no job
//   EADDRNOTAVAIL  the engine cannot listen at that address
//   ENOMEM         the engine cannot wait for connections
#pragma once

#include <cstdint>
#include <type_traits>

#include "hca/core/wire/engine_messages.h"

namespace scela::hca {

inline constexpr std::uint64_t kJoinMagic = kLayoutMagic + 2;

// A description of the job. Its size differs from that of an Ask (engine_messages.h) and of a
// StatusAsk (hca/engine/daemon/client_connection.h): the engine tells them apart by their size.
struct JoinAsk {
  std::uint64_t magic = kJoinMagic;
  std::uint32_t version = kLayoutVersion;
  std::uint32_t length = 0;  // bytes of `record` that are used
  // Lines in the format of --fabric-fd (hca/engine/net/fabric_record.h), which contain a key.
  char record[1008] = {};
};
static_assert(std::is_trivially_copyable_v<JoinAsk> && sizeof(JoinAsk) == 1024 &&
              sizeof(JoinAsk) > sizeof(Ask));

}  // namespace scela::hca
