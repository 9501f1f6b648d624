// The objects behind the pointers that a program holds. Each begins with the public structure of
// verbs, followed by what this library knows. Only this library includes the header. Any thread may
// use the objects, within the rules of verbs.
//
// Locks are taken in this order: a completion queue's, the context's table, a request queue's. A
// thread holds none of them while its poll sleeps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "hca/core/wire/doorbells.h"
#include "hca/core/wire/layout.h"
#include "hca/core/wire/messages.h"
#include "hca/library/link/engine_link.h"
#include "hca/library/objects/poll_sleeper.h"
#include "hca/library/verbs/verbs.h"

namespace scela::hca::library {

struct Cq;
struct Qp;
struct Srq;

// The objects that events and completions name, by the numbers that the engine knows them by.
struct Table {
  mutable std::shared_mutex mutex;
  std::unordered_map<std::uint32_t, Qp*> qps;    // by handle
  std::unordered_map<std::uint32_t, Srq*> srqs;  // by handle
  // The library gives each object a cookie when it makes it. The engine's events repeat the cookie.
  std::unordered_map<std::uint64_t, Cq*> cqs_by_cookie;
  std::unordered_map<std::uint64_t, Qp*> qps_by_cookie;
  std::unordered_map<std::uint64_t, Srq*> srqs_by_cookie;
  std::uint64_t next_cookie = 1;  // never reused: late events find nothing
};

struct Context : verbs_context {
  EngineLink link;
  Table table;
  PollSleeper poll_sleeper;
  std::atomic<bool> told_fatal{false};  // it has had IBV_EVENT_DEVICE_FATAL
};

struct Pd : ibv_pd {
  Pd* of = nullptr;             // a parent domain's protection domain
  std::atomic<int> parents{0};  // domains and address handles made of it
};

struct Ah : ibv_ah {
  Destination destination;  // without the fields that a request sets
};

struct Xrcd : ibv_xrcd {
  std::uint32_t handle = 0;
  Fd file;  // keeps its inode number from being reused
};

struct Channel : ibv_comp_channel {
  std::uint32_t handle = 0;
};

// The writer's view of a ring of requests.
struct RequestQueue {
  std::mutex mutex;
  // This is null if there is no queue: the type of the queue pair has none, or it was made with no
  // slots.
  RequestRing* ring = nullptr;
  Region region;
  std::byte* entries = nullptr;
  std::uint64_t mask = 0;
  std::uint32_t stride = 0;
  std::uint32_t capacity = 0;  // requests posted and not completed
  // The limits of one request: its scatter/gather entries, and its inline bytes.
  std::uint32_t sges = 0;
  std::uint32_t inline_bytes = 0;
  // The number of this queue's doorbell (EngineLink::ring).
  std::uint32_t doorbell = 0;
  bool held = false;  // until a task enables it
  // Requests have an index, counted from 0 since the queue was made. These are the indexes behind
  // the last request that was posted, taken by the engine, or completed. A shared queue counts in
  // `completed` instead, since its requests complete in any order.
  std::uint64_t posted = 0;
  std::uint64_t taken = 0;  // the engine's counter as last seen
  std::atomic<std::uint64_t> completed{0};

  // Returns false if the engine's answer makes no sense. A region of zero slots is a queue without
  // room, and no error. `slots` is a power of two. The slots are `bytes_apart` bytes apart, and
  // each begins with a request of `header` bytes.
  bool map(EngineLink& link, const Region& where, std::uint32_t slots, std::uint32_t bytes_apart,
           std::size_t header);
  std::byte* slot(std::uint64_t index) const { return entries + (index & mask) * stride; }
  // Returns true if a request with the index `at` cannot be posted now. The caller holds `mutex`.
  bool full(std::uint64_t at) {
    if (at - completed.load(std::memory_order_acquire) >= capacity) return true;
    if (at - taken <= mask) return false;
    taken = ring->taken.load(std::memory_order_acquire);
    return at - taken > mask;
  }
  // Hands everything before `end` to the engine and, on a send queue, tells it. If the queue is
  // held, this does not wake the engine.
  void publish_sends(EngineLink& link, std::uint64_t end) {
    if (end == posted) return;
    posted = end;
    if (held && !post_silently(*ring, end)) return link.mark(doorbell);
    if (!held) ring->posted.store(end, std::memory_order_release);
    link.ring(doorbell);
  }
  // The engine looks for receives when a message comes. It is told of new ones only if it has asked
  // for that.
  void publish_receives(EngineLink& link, std::uint64_t end) {
    if (end == posted) return;
    posted = end;
    if (post_silently(*ring, end)) link.ring(doorbell);
  }
  // Counts all requests as completed, without completions: the queue pair was reset.
  void forget_all() { completed.store(posted, std::memory_order_release); }
};

struct Srq : ibv_srq {
  std::uint32_t number = 0;
  SrqType type = SrqType::basic;
  std::uint64_t cookie = 0;
  Cq* cq = nullptr;  // XRC
  RequestQueue queue;
  std::uint32_t async_events = 0;  // handed out; under `mutex`
};

struct Qp : ibv_qp_ex {
  // The state in the engine's last answer about it. An error that came later is not seen here.
  std::atomic<QpState> now{QpState::reset};
  QpType type = QpType::rc;
  std::uint64_t cookie = 0;
  // ibv_query_qp returns this; the capacities are those that were granted.
  ibv_qp_init_attr made_with{};
  // This is true if a program may use the wr_* functions (ibv_qp_to_qp_ex).
  bool extended = false;
  RequestQueue send;
  RequestQueue recv;
  std::uint32_t async_events = 0;  // handed out; under `mutex`
  // The request that the wr_* functions build, between wr_start and wr_complete.
  SendRequest building;
  std::byte* building_at = nullptr;  // null: nothing
  std::uint64_t built = 0;           // index of the next request
  int build_error = 0;
};

struct Cq : ibv_cq_ex {
  std::mutex lock;
  CompletionRing* ring = nullptr;
  Region region;
  const std::byte* entries = nullptr;
  std::uint64_t mask = 0;
  std::uint64_t taken = 0;     // as `consumed`, on this side
  std::uint64_t produced = 0;  // the engine's counter as last seen
  std::uint64_t cookie = 0;
  std::uint32_t noted_in = 0;  // row of PollSleeper that noted this queue
  // The queue pair of the last completion: most completions are of the same one.
  Qp* last = nullptr;
  std::uint32_t comp_events = 0;  // handed out; under `mutex`
  std::uint32_t async_events = 0;
  bool single_threaded = false;
  bool helps = true;     // vain polls move bytes (helper.h)
  bool polling = false;  // between start_poll and end_poll
  // The value of `taken` at start_poll. end_poll gives back what was taken since.
  std::uint64_t polled_from = 0;
  Completion current;  // the completion of next_poll
  // The base that WAITs count from, and by how much the next base is larger
  // (hca/include/scela/verbs_ext.h).
  std::uint64_t wait_base = 0;
  std::uint64_t max_wait = 0;

  // Maps a ring of `count` entries, also after a resize. Returns false if the engine's answer makes
  // no sense.
  bool map(EngineLink& link, const Region& where, std::uint32_t count);
  // Takes the next completion, and gives the slots of its request back to its queue. Returns false
  // if there is none. The caller holds `lock`.
  bool next(Completion& completion);
  // Tells the engine how many completions next() has taken since `from`.
  void give_back(std::uint64_t from);
  // Drops the completions that a queue pair left in this queue. The caller holds `lock`.
  void forget(const Qp& qp);
};

inline Context& context_of(ibv_context* context) {
  return *static_cast<Context*>(verbs_get_ctx(context));
}
// Drops the completions of `qp` in `cq`, which may be null.
void forget_in(ibv_cq* cq, const Qp& qp);
inline Pd& pd_of(ibv_pd* pd) {
  return *static_cast<Pd*>(pd);
}
inline Xrcd& xrcd_of(ibv_xrcd* xrcd) {
  return *static_cast<Xrcd*>(xrcd);
}
inline Channel& channel_of(ibv_comp_channel* channel) {
  return *static_cast<Channel*>(channel);
}
inline Srq& srq_of(ibv_srq* srq) {
  return *static_cast<Srq*>(srq);
}
inline Ah& ah_of(ibv_ah* ah) {
  return *static_cast<Ah*>(ah);
}
inline Cq& cq_of(ibv_cq* cq) {
  return *static_cast<Cq*>(reinterpret_cast<ibv_cq_ex*>(cq));
}
inline ibv_cq* public_of(Cq& cq) {
  return reinterpret_cast<ibv_cq*>(static_cast<ibv_cq_ex*>(&cq));
}
inline Qp& qp_of(ibv_qp* qp) {
  return *static_cast<Qp*>(reinterpret_cast<ibv_qp_ex*>(qp));
}

// Returns null and sets errno, as a verb does that cannot make an object.
template <class T>
T* no(int error, T* = nullptr) {
  errno = error;
  return nullptr;
}

// No exception leaves the library: the only one that can come reports that memory is exhausted. The
// function then sets errno to ENOMEM, and returns null or ENOMEM.
template <class Call>
auto guarded(Call call) noexcept -> decltype(call()) {
  using Returned = decltype(call());
  try {
    return call();
  } catch (...) {
    errno = ENOMEM;
    if constexpr (std::is_pointer_v<Returned>) {
      return nullptr;
    } else {
      return static_cast<Returned>(ENOMEM);
    }
  }
}

// The functions of context.ops and of verbs_context. Each does what the verb of that name does.
// Those that return an int return 0 or an errno, but poll_cq() returns a count, or -1 and sets
// errno. Those that return a pointer return null and set errno. `bytes` is the size of the
// structure that the program was compiled with.
int poll_cq(ibv_cq* cq, int count, ibv_wc* completions);
int req_notify_cq(ibv_cq* cq, int solicited_only);
int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad);
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
               std::size_t bytes);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t bytes);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* td);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes);
int close_xrcd(ibv_xrcd* xrcd);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);

// Fill in the extended interface of a new queue pair (extended.cpp) and of a new completion queue
// (poll_extended.cpp). offer_work_requests() returns 0 or an errno. `operations` are bits
// IBV_QP_EX_WITH_*; EOPNOTSUPP means that this type of queue pair does not allow one. `fields` are
// bits IBV_WC_EX_WITH_*.
int offer_work_requests(Qp& qp, std::uint64_t operations);
void offer_polling(Cq& cq, std::uint64_t fields);

// Returns true if queue pairs of this type take the request. Every post checks this.
bool allows(QpType type, std::uint32_t opcode);
// Returns 0, or the errno of a post to a queue pair in this state.
int check_send_state(const Qp& qp);

// Makes the completions that an engine which is gone will not send (flush.cpp). Returns how many,
// or -1 if all were handed out. The caller holds the CQ's lock.
int flush(Cq& cq, int count, ibv_wc* completions);

}  // namespace scela::hca::library
