// A queue pair behind the pointer that a program holds. It begins with the public structure of
// verbs, followed by what this library knows. Any thread may use it, within the rules of verbs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "hca/library/objects/request_queue.h"
#include "hca/library/verbs/verbs.h"

namespace scela::hca::library {

// A queue pair.
struct Qp : ibv_qp_ex {
  // The state in the engine's last answer about it. An error that came later is not seen here.
  std::atomic<QpState> now{QpState::reset};
  QpType type = QpType::rc;
  std::uint64_t cookie = 0;  // number of this object in events
  // The attributes that ibv_query_qp returns; the capacities are those that were granted.
  ibv_qp_init_attr made_with{};
  // This is true if a program may use the wr_* functions (ibv_qp_to_qp_ex).
  bool extended = false;
  RequestQueue send;
  RequestQueue recv;
  // Asynchronous events that were handed to the program; protected by ibv_qp's `mutex`.
  std::uint32_t async_events = 0;
  // The request that the wr_* functions build, between wr_start and wr_complete. `building_at` is
  // its slot in the send queue, or null if there is none. `built` is the index of the next request,
  // and `build_error` the first errno.
  SendRequest building;
  std::byte* building_at = nullptr;
  std::uint64_t built = 0;
  int build_error = 0;
};

// Returns the object behind a program's pointer.
inline Qp& qp_of(ibv_qp* qp) {
  return *static_cast<Qp*>(reinterpret_cast<ibv_qp_ex*>(qp));
}

}  // namespace scela::hca::library
