// A device in memory: reliable connections within the process, which deliver when they are posted,
// and completion queues with events. It does only what DeviceTasks needs, and fails where a test
// says so.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "common/os/syscall.h"
#include "hca/progress/verbs_calls.h"

namespace scela::hca::test {

class Loopback {
 public:
  Loopback();
  ~Loopback();
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  ibv_context& context() { return verbs_.context; }
  ibv_pd* pd() { return &pd_; }
  static progress::VerbsCalls calls();
  static void connect(ibv_qp* a, ibv_qp* b);

  // Return how often a completion queue was polled by any caller, and the most completions that it
  // held.
  static int polls(const ibv_cq* cq);
  static std::size_t max_held(const ibv_cq* cq);
  // Returns true if the next completion of the queue causes an event.
  static bool is_armed(const ibv_cq* cq);
  // If false, the device sends no events from now on.
  std::atomic<bool> tells{true};
  // Runs once, in the next thread that asks for an event. So a completion can come at that very
  // moment.
  std::function<void()> when_asked_to_tell;
  // The next send completes with this status.
  std::atomic<int> next_status{IBV_WC_SUCCESS};
  std::atomic<bool> refuses_sends{false};

  int objects() const { return objects_; }

 private:
  struct Cq : ibv_cq {
    std::deque<ibv_wc> ready;
    std::size_t most = 0;
    bool armed = false;
    std::atomic<int> polls{0};
  };
  struct Qp : ibv_qp {
    Qp* peer = nullptr;
    std::deque<ibv_send_wr> unmatched;  // sends that found no receive
    std::deque<std::uint64_t> receives;
    std::size_t depth = 0, unpolled = 0;
  };
  static Loopback& of(const ibv_context* context);
  static void complete(ibv_cq* shown, ibv_wc wc);
  static void match(Qp& qp);
  static void send_done(Qp& qp, const ibv_send_wr& request, ibv_wc_status status);

  static ibv_comp_channel* create_channel(ibv_context* context);
  static int destroy_channel(ibv_comp_channel* channel);
  static int get_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context);
  static void ack_events(ibv_cq* cq, unsigned events);
  static ibv_cq* create_cq(ibv_context* context, int cqe, void* cq_context,
                           ibv_comp_channel* channel, int comp_vector);
  static int destroy_cq(ibv_cq* cq);
  static ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes);
  static int modify_qp(ibv_qp* shown, ibv_qp_attr* attributes, int mask);
  static int destroy_qp(ibv_qp* qp);
  static int poll_cq(ibv_cq* shown, int count, ibv_wc* completions);
  static int req_notify_cq(ibv_cq* cq, int solicited_only);
  static int post_send(ibv_qp* shown, ibv_send_wr* request, ibv_send_wr** bad);
  static int post_recv(ibv_qp* shown, ibv_recv_wr* request, ibv_recv_wr** bad);

  verbs_context verbs_{};
  ibv_pd pd_{};
  std::mutex mutex_;
  std::uint32_t next_number_ = 2;
  std::map<std::uint32_t, Qp*> qps_;
  int told_ = -1;  // the end that events are written to
  std::atomic<int> objects_{0};
};

}  // namespace scela::hca::test
