// An open device behind the pointer that a program holds: its link to the engine, and the objects
// that were made of it. It begins with the public structure of verbs, followed by what this library
// knows. Any thread may use it, within the rules of verbs.
//
// Locks are taken in this order: a completion queue's, the context's table, a request queue's. A
// thread holds none of them while its poll sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <shared_mutex>
#include <unordered_map>

#include "hca/library/link/engine_link.h"
#include "hca/library/objects/poll_sleeper.h"
#include "hca/library/verbs/verbs.h"

namespace scela::hca::library {

struct Cq;
struct Qp;
struct Srq;

// The objects that events and completions name, by the numbers that the engine knows them by.
// `mutex` protects the table.
struct Table {
  mutable std::shared_mutex mutex;
  std::unordered_map<std::uint32_t, Qp*> qps;    // by handle
  std::unordered_map<std::uint32_t, Srq*> srqs;  // by handle
  // The library gives each object a number when it makes it, the cookie. The engine's events repeat
  // the cookie.
  std::unordered_map<std::uint64_t, Cq*> cqs_by_cookie;
  std::unordered_map<std::uint64_t, Qp*> qps_by_cookie;
  std::unordered_map<std::uint64_t, Srq*> srqs_by_cookie;
  // A cookie is never used again, so late events find nothing.
  std::uint64_t next_cookie = 1;
};

// An open device.
struct Context : verbs_context {
  EngineLink link;
  Table table;
  PollSleeper poll_sleeper;
  // IBV_EVENT_DEVICE_FATAL was handed to the program.
  std::atomic<bool> told_fatal{false};
};

// Returns the object behind a program's pointer.
inline Context& context_of(ibv_context* context) {
  return *static_cast<Context*>(verbs_get_ctx(context));
}

}  // namespace scela::hca::library
