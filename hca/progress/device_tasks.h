// Executes tasks for the objects of one context if its device has none
// (hca/include/scela/verbs_ext.h). Requests are held in this process's memory. Completions pass
// through this class's own queues, where they are counted. The functions of verbs_tasks.cpp use it.
//
// A post executes what it can, and a poll handles what it finds. One thread does the rest, from the
// first queue pair until the last is destroyed. It sleeps unless a task waits for completions that
// only polling finds.
//
// Any thread may call. One lock protects all objects, `mutex_`. It is held for a bounded number of
// steps, and never during a long calculation or while a thread sleeps.
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

// The operations of a context that this class replaces.
struct Operations {
  decltype(ibv_context_ops::poll_cq) poll_cq = nullptr;
  decltype(ibv_context_ops::req_notify_cq) req_notify_cq = nullptr;
  decltype(ibv_context_ops::post_send) post_send = nullptr;
  decltype(ibv_context_ops::post_recv) post_recv = nullptr;
};

class DeviceTasks final : private Host {
 public:
  // `context` has its own operations. They are replaced only when the first object is made.
  DeviceTasks(ibv_context& context, const VerbsCalls& calls);
  ~DeviceTasks() override;
  DeviceTasks(const DeviceTasks&) = delete;
  DeviceTasks& operator=(const DeviceTasks&) = delete;

  // The device's own operations, for objects that this class did not make.
  const Operations& own() const { return own_; }

  // Like the functions of hca/include/scela/verbs_ext.h, but each returns 0 or an errno. If this
  // class did not make the object, the device's own function is called; post_task() returns EINVAL.
  int create_cq(int cqe, void* cq_context, int comp_vector, ibv_cq*& made);
  int destroy_cq(ibv_cq* device);
  int create_qp(const ibv_qp_init_attr_ex& attributes, ibv_qp_cap& cap, ibv_qp*& made);
  int create_mq(ibv_pd* pd, ibv_cq* cq, std::uint32_t max_tasks, ibv_qp*& made);
  int modify_qp(ibv_qp* device, ibv_qp_attr* attributes, int mask);
  int destroy_qp(ibv_qp* device);
  int post_task(ibv_qp* device, scela_task* task, scela_task** bad);
  // Stops the thread if no queue pair is left. If no completion queue is left either, destroys the
  // channel and returns true. No call that makes objects may run at the same time.
  bool close_if_empty();

  // The functions that replace the device's operations.
  int poll_cq(ibv_cq* device, int count, ibv_wc* completions);
  int req_notify_cq(ibv_cq* device, int solicited_only);
  int post_send(ibv_qp* device, ibv_send_wr* request, ibv_send_wr** bad);
  int post_recv(ibv_qp* device, ibv_recv_wr* request, ibv_recv_wr** bad);

 private:
  struct Cq {
    ibv_cq* device = nullptr;
    CountId id = 0;
    // Completions for the program, oldest first. If there are more than `capacity`, it overruns.
    std::deque<ibv_wc> ready;
    std::size_t capacity = 0;
    // Completions beyond `capacity` that fit; the program did not ask for them.
    int spare = 0;
    int unasked = 0;       // unsignalled requests on their way
    bool broken = false;   // it overran; nothing more comes
    bool watched = false;  // the thread looks at it
    // The device will report its next completion.
    bool armed = false;
    // It is being destroyed: it is not polled any more.
    bool leaving = false;
  };
  struct Qp {
    ibv_qp* device = nullptr;
    PairId id = 0;
    Cq* send_cq = nullptr;
    Cq* recv_cq = nullptr;
    ibv_qp_cap cap{};
    // It was made with sq_sig_all.
    bool all_signalled = false;
    // It is a management queue, which takes tasks only.
    bool manages_only = false;
    // Its part of Cq::unasked.
    int unasked = 0;
  };
  // Holds the lock. The thread releases the lock if a caller is waiting for one.
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

  // These return null if this class did not make the object. They lock `table_` only.
  Cq* find(const ibv_cq* cq) const;
  Qp* find(const ibv_qp* qp) const;
  // Enters a new queue pair in the tables. The counts and `max_receives` of `shape` are
  // filled in here.
  void add_qp(std::unique_ptr<Qp> qp, TaskQueues::Shape shape);
  // Makes the descriptors that the thread sleeps on, if there are none. Returns 0 or an errno.
  int open();
  // Starts the thread unless it runs. Returns 0 or an errno.
  int start_thread();
  // Ends the thread and waits for it. The caller must not hold the lock.
  void stop_thread();

  // These are in device_posts.cpp. They run under the lock.
  //
  // Returns whether the send queue has room. Polls the device first if it has none.
  bool make_room(Qp& qp);
  // These post one request or task, at once or later, and return 0 or an errno (ENOMEM: no room).
  int accept_send(Qp& qp, const ibv_send_wr& request);
  int accept_receive(Qp& qp, const ibv_recv_wr& request);
  int accept_task(Qp& qp, const scela_task& task);
  // Translates the task to `entry`. Returns 0, or EINVAL if the task is wrong.
  int fill(const Qp& qp, const scela_task& task, Entry& entry);
  // Posts a request to the device. Returns 0 or an errno; after ENOMEM it can be tried again later.
  int give_to_device(Qp& qp, ibv_send_wr request, std::uint64_t serial, bool signalled);
  // The contract of the overrides is in hca/progress/core/task_queues.h. watch() is in
  // device_polls.cpp.
  Posted post_send(PairId pair, const Entry& entry) override;
  Posted post_receive(PairId pair, const Entry& entry) override;
  std::optional<Status> calculate(PairId pair, const Entry& entry) override;
  bool complete(CountId count, PairId pair, const Entry& entry, bool receives) override;
  void broken(PairId pair) override;
  void watch(CountId count, bool wanted) override;

  // These are in device_polls.cpp. They run under the lock.
  //
  // Polls the device once for this queue, and handles what comes.
  bool look(Cq& cq);  // true: a completion came
  // Polls queues that tasks wait for and that the program may not poll.
  void look_around();
  // Handles one completion of the device: it goes to the program, to a task, or nowhere.
  void take(Cq& cq, const ibv_wc& wc);
  // Appends a completion for the program. Returns false if the queue overran, and drops it then.
  bool put(Cq& cq, const ibv_wc& wc);
  // Drops the calculations and completions of a queue pair that is reset or destroyed.
  void forget(Qp& qp);
  // If the thread is calculating for the queue pair, waits for it, and releases the lock meanwhile.
  void drop_calculations(PairId pair);
  void go_on();  // after a post or a completion
  // Ends the thread's sleep.
  void wake();

  // These are in progress_thread.cpp. Their callers hold the lock, except that of serve().
  //
  // The thread's main function.
  void serve();
  // Executes tasks, one long calculation, or polls. Returns true if there may be more to do.
  bool work(std::unique_lock<std::mutex>& lock);
  // These three return true if a completion was found. look_at_unarmed() polls the watched queues
  // that report no events; spin() does so several times. arm() asks the device for events first.
  bool look_at_unarmed();
  bool spin();
  bool arm();
  // The device reports no events any more: from now on the thread polls.
  void go_deaf();
  // Executes the oldest calculation, and releases the lock meanwhile.
  void calculate_one(std::unique_lock<std::mutex>& lock);
  // Releases the lock for a short time, longer if callers want it.
  void let_others(std::unique_lock<std::mutex>& lock);
  // Sleeps without the lock until an event comes or wake() is called. If the device reports no
  // events and queues must be polled, the sleep is short.
  void sleep(std::unique_lock<std::mutex>& lock);
  // Takes all events of the channel: their queues are not armed any more.
  void take_events();

  ibv_context& context_;
  const VerbsCalls calls_;
  const Operations own_;
  // Upper half of the wr_id of sends that this class has posted.
  const std::uint64_t mark_;

  std::mutex mutex_;
  std::atomic<int> coming_{0};  // callers that want the lock
  TaskQueues queues_;
  // Protects the five maps below: both locks are held to change them, either one to read them.
  mutable std::shared_mutex table_;
  std::unordered_map<const ibv_cq*, std::unique_ptr<Cq>> cqs_;
  std::unordered_map<const ibv_qp*, std::unique_ptr<Qp>> qps_;
  std::unordered_map<CountId, Cq*> cqs_by_id_;
  std::unordered_map<PairId, Qp*> qps_by_id_;
  std::unordered_map<std::uint32_t, Qp*> qps_by_number_;
  std::vector<Cq*> watched_;
  std::size_t next_look_ = 0;
  std::deque<Calculation> calculations_;
  std::optional<PairId> calculating_;  // the thread does, without the lock
  std::condition_variable calculated_;
  const ibv_wc* current_ = nullptr;  // the completion that take() handles

  ibv_comp_channel* channel_ = nullptr;
  Fd wake_;
  std::thread thread_;
  bool stop_ = false;
  bool serving_ = false;  // the thread runs and does not sleep
  bool wanted_ = false;   // something is to be done by it
  bool is_deaf_ = false;  // no events come: it must be polled
  int spins_ = 1;
};

}  // namespace scela::hca::progress
