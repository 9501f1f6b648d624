// A shared receive queue behind the pointer that a program holds. It begins with the public
// structure of verbs, followed by what this library knows. Any thread may use it, within the rules
// of verbs.
#pragma once

#include <cstdint>

#include "hca/library/objects/request_queue.h"
#include "hca/library/verbs/verbs.h"

namespace scela::hca::library {

struct Cq;

// A shared receive queue.
struct Srq : ibv_srq {
  std::uint32_t number = 0;  // SRQ number, for XRC senders
  SrqType type = SrqType::basic;
  std::uint64_t cookie = 0;  // number of this object in events
  Cq* cq = nullptr;          // XRC: gets its completions
  RequestQueue queue;
  // Asynchronous events that were handed to the program; protected by ibv_srq's `mutex`.
  std::uint32_t async_events = 0;
};

// Returns the object behind a program's pointer.
inline Srq& srq_of(ibv_srq* srq) {
  return *static_cast<Srq*>(srq);
}

}  // namespace scela::hca::library
