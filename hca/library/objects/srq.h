// A shared receive queue behind the pointer that a program holds. It begins with the public
// structure of verbs, followed by what this library knows. Any thread may use it, within the rules
// of verbs.
#pragma once

#include <cstdint>

#include "hca/library/objects/request_queue.h"
#include "hca/library/verbs/verbs.h"

namespace scela::hca::library {

struct Cq;

struct Srq : ibv_srq {
  std::uint32_t number = 0;
  SrqType type = SrqType::basic;
  std::uint64_t cookie = 0;
  Cq* cq = nullptr;  // XRC
  RequestQueue queue;
  std::uint32_t async_events = 0;  // handed out; under `mutex`
};

inline Srq& srq_of(ibv_srq* srq) {
  return *static_cast<Srq*>(srq);
}

}  // namespace scela::hca::library
