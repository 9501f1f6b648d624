// Tasks for the objects of one context whose device knows none (include/scela/verbs_ext.h):
// requests are held in this process's memory, completions pass through queues of our own, where
// they are counted.
//
// Whoever looks works: a post executes what it can, a poll what it finds, and for the rest there is
// one thread, from the first queue pair on until the last has gone. It sleeps unless something
// waits for completions that it must look for.
//
// One lock for all objects, `mutex_`, held for a bounded number of steps; never while something
// long is calculated or a thread sleeps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "common/os/fd.h"
#include "hca/progress/core/task_queues.h"
#include "hca/progress/verbs_calls.h"

namespace scela::hca::progress {

// The operations of a context that are put in front of its own.
struct Operations {
  decltype(ibv_context_ops::poll_cq) poll_cq = nullptr;
  decltype(ibv_context_ops::req_notify_cq) req_notify_cq = nullptr;
  decltype(ibv_context_ops::post_send) post_send = nullptr;
  decltype(ibv_context_ops::post_recv) post_recv = nullptr;
};

class DeviceTasks final : private Host {
 public:
  // `context` has its own operations; it keeps them until the first object is made.
  DeviceTasks(ibv_context& context, const VerbsCalls& calls);
  ~DeviceTasks() override;
  DeviceTasks(const DeviceTasks&) = delete;
  DeviceTasks& operator=(const DeviceTasks&) = delete;

  // The device's own operations: for what is none of ours.
  const Operations& own() const { return own_; }

  // As the header's functions, but for what is to be said of failure: an errno.
  int create_cq(int cqe, void* cq_context, int comp_vector, ibv_cq*& made);
  int destroy_cq(ibv_cq* device);
  int create_qp(const ibv_qp_init_attr_ex& attributes, ibv_qp_cap& cap, ibv_qp*& made);
  int create_mq(ibv_pd* pd, ibv_cq* cq, std::uint32_t most_tasks, ibv_qp*& made);
  int modify_qp(ibv_qp* device, ibv_qp_attr* attributes, int mask);
  int destroy_qp(ibv_qp* device);
  int post_task(ibv_qp* device, scela_task* task, scela_task** bad);
  // True: there is no object, no thread and no channel any more. Not beside a call that makes
  // objects.
  bool close_if_empty();

  // What stands in front of the device's operations.
  int poll_cq(ibv_cq* device, int count, ibv_wc* completions);
  int req_notify_cq(ibv_cq* device, int solicited_only);
  int post_send(ibv_qp* device, ibv_send_wr* request, ibv_send_wr** bad);
  int post_recv(ibv_qp* device, ibv_recv_wr* request, ibv_recv_wr** bad);

 private:
  struct Cq {
    ibv_cq* device = nullptr;
    CountId id = 0;
    std::deque<ibv_wc> ready;
    std::size_t capacity = 0;
    int spare = 0;         // completions that nobody asked for and that fit as well
    int unasked = 0;       // on their way
    bool broken = false;   // it ran over; nothing more comes
    bool watched = false;  // by the thread
    bool armed = false;
    bool leaving = false;
  };
  struct Qp {
    ibv_qp* device = nullptr;
    PairId id = 0;
    Cq* send_cq = nullptr;
    Cq* recv_cq = nullptr;
    ibv_qp_cap cap{};
    bool all_signalled = false;
    bool manages_only = false;
    int unasked = 0;
  };
  // Holds the lock; the thread lets go of it where somebody comes.
  class Turn {
   public:
    explicit Turn(DeviceTasks& tasks) : tasks_(tasks) {
      tasks_.coming_.fetch_add(1, std::memory_order_relaxed);
      tasks_.mutex_.lock();
      tasks_.coming_.fetch_sub(1, std::memory_order_relaxed);
    }
    ~Turn() { tasks_.mutex_.unlock(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    DeviceTasks& tasks_;
  };
  struct SendPayload;
  struct ReceivePayload;
  struct CalcPayload;
  struct Calculation;

  Cq* find(const ibv_cq* cq) const;
  Qp* find(const ibv_qp* qp) const;
  void add_qp(std::unique_ptr<Qp> qp, TaskQueues::Shape shape);
  int open();
  int start_thread();
  void stop_thread();

  // device_posts.cpp; under the lock.
  bool make_room(Qp& qp);
  int accept_send(Qp& qp, const ibv_send_wr& request);
  int accept_receive(Qp& qp, const ibv_recv_wr& request);
  int accept_task(Qp& qp, const scela_task& task);
  int fill(const Qp& qp, const scela_task& task, Entry& entry);
  int give_to_device(Qp& qp, ibv_send_wr request, std::uint64_t serial, bool signalled);
  Posted post_send(PairId pair, const Entry& entry) override;
  Posted post_receive(PairId pair, const Entry& entry) override;
  std::optional<Status> calculate(PairId pair, const Entry& entry) override;
  bool complete(CountId count, PairId pair, const Entry& entry, bool receives) override;
  void broken(PairId pair) override;
  void watch(CountId count, bool wanted) override;

  // device_polls.cpp; under the lock.
  bool look(Cq& cq);   // true: something came
  void look_around();  // at queues that others than their pollers wait for
  void take(Cq& cq, const ibv_wc& wc);
  bool put(Cq& cq, const ibv_wc& wc);
  void forget(Qp& qp);
  void drop_calculations(PairId pair);
  void go_on();  // after something was posted or has come
  void wake();

  // progress_thread.cpp
  void serve();
  bool work(std::unique_lock<std::mutex>& lock);
  bool look_at_unarmed();
  bool spin();
  bool arm();
  void go_deaf();
  void calculate_one(std::unique_lock<std::mutex>& lock);
  void let_others(std::unique_lock<std::mutex>& lock);
  void sleep(std::unique_lock<std::mutex>& lock);
  void take_events();

  ibv_context& context_;
  const VerbsCalls calls_;
  const Operations own_;
  const std::uint64_t mark_;  // upper half of the wr_id of sends that are ours

  std::mutex mutex_;
  std::atomic<int> coming_{0};  // threads of the program that want the lock
  TaskQueues queues_;
  mutable std::shared_mutex table_;  // changed under both locks, read under either
  std::unordered_map<const ibv_cq*, std::unique_ptr<Cq>> cqs_;
  std::unordered_map<const ibv_qp*, std::unique_ptr<Qp>> qps_;
  std::unordered_map<CountId, Cq*> cqs_by_id_;
  std::unordered_map<PairId, Qp*> qps_by_id_;
  std::unordered_map<std::uint32_t, Qp*> qps_by_number_;
  std::vector<Cq*> watched_;
  std::size_t next_look_ = 0;
  std::deque<Calculation> calculations_;
  std::optional<PairId> calculating_;  // by the thread, without the lock
  std::condition_variable calculated_;
  const ibv_wc* current_ = nullptr;  // the device's completion that is being taken

  ibv_comp_channel* channel_ = nullptr;
  Fd wake_;
  std::thread thread_;
  bool stop_ = false;
  bool serving_ = false;  // the thread runs and has not begun to sleep
  bool wanted_ = false;   // something is to be done by it
  bool is_deaf_ = false;  // the device tells no events (any more): it must be asked
  int spins_ = 1;
};

}  // namespace scela::hca::progress
