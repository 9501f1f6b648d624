// Executes tasks for the objects of one context if its device has none
// (hca/include/scela/verbs_ext.h). Requests are held in this process's memory. Completions pass
// through this class's own queues, where they are counted. The functions of verbs_tasks.cpp use it.
//
// A post executes what it can, and a poll handles what it finds. One thread does the rest, from the
// first queue pair until the last is destroyed. It sleeps unless a queue pair waits for completions
// that only polling finds.
//
// Any thread may call. One lock protects all objects (task_lock.h). Each part owns its state: the
// objects (task_objects.h), the requests (device_requests.h), the polls (completion_poller.h), long
// calculations (calculation_queue.h) and the thread (progress_thread.h).
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "hca/include/scela/verbs_ext.h"
#include "hca/progress/calculation_queue.h"
#include "hca/progress/completion_poller.h"
#include "hca/progress/core/task_queues.h"
#include "hca/progress/device_requests.h"
#include "hca/progress/progress_thread.h"
#include "hca/progress/request_mark.h"
#include "hca/progress/task_lock.h"
#include "hca/progress/task_objects.h"
#include "hca/progress/verbs_calls.h"
#include "hca/progress/wake_signal.h"

namespace scela::hca::progress {

// The tasks of one open device.
class DeviceTasks {
 public:
  // `context` still has the device's own operations (ibv_context_ops). They are replaced only when
  // the first object is made. `context` must live as long as this object.
  DeviceTasks(ibv_context& context, const VerbsCalls& calls);
  DeviceTasks(const DeviceTasks&) = delete;
  DeviceTasks& operator=(const DeviceTasks&) = delete;

  // Returns the device's own operations, for objects that this class did not make.
  const Operations& own() const { return own_; }

  // These do what the functions of hca/include/scela/verbs_ext.h do. Each returns 0 or an errno,
  // and puts a new object into `made`. If this class did not make the object, destroy and modify
  // call the device's own function.
  //
  // Makes a completion queue with room for `cqe` completions.
  int create_cq(int cqe, void* cq_context, int comp_vector, ibv_cq*& made);
  // Destroys a completion queue; it may wait for the thread.
  int destroy_cq(ibv_cq* device);
  // Makes a queue pair, and puts the granted capacities into `cap`.
  int create_qp(const ibv_qp_init_attr_ex& attributes, ibv_qp_cap& cap, ibv_qp*& made);
  // Makes a management queue, which takes at most `max_tasks` tasks and nothing else.
  int create_mq(ibv_pd* pd, ibv_cq* cq, std::uint32_t max_tasks, ibv_qp*& made);
  // Changes a queue pair as ibv_modify_qp does; `mask` says which attributes.
  int modify_qp(ibv_qp* device, ibv_qp_attr* attributes, int mask);
  // Destroys a queue pair; it waits for a calculation that is under way.
  int destroy_qp(ibv_qp* device);
  // Posts a list of tasks. After an error, `bad` is the first that was not posted. Returns EINVAL
  // if this class did not make the queue pair.
  int post_task(ibv_qp* device, scela_task* task, scela_task** bad);
  // Ends the thread if no queue pair is left, and waits for it. If no completion queue is left
  // either, destroys the completion channel and returns true. Otherwise returns false. No call that
  // makes objects may run at the same time.
  bool close_if_empty();

  // The functions that replace the device's operations. They do and return what the verbs of these
  // names do.
  int poll_cq(ibv_cq* device, int count, ibv_wc* completions);
  int req_notify_cq(ibv_cq* device, int solicited_only);
  int post_send(ibv_qp* device, ibv_send_wr* request, ibv_send_wr** bad);
  int post_recv(ibv_qp* device, ibv_recv_wr* request, ibv_recv_wr** bad);

 private:
  // Enters a new queue pair in the tables. It fills in the counts and `max_receives` of `shape`.
  void add_qp(std::unique_ptr<TaskQp> qp, TaskQueues::PairProperties shape);

  // Drops the calculations and completions of a queue pair that is reset or destroyed. This
  // function and the next need the lock.
  void forget(TaskQp& qp);
  // Executes what can go on after a post or a completion, a bounded number of entries, and leaves
  // the rest to the thread.
  void go_on();

  ibv_context& context_;
  const VerbsCalls calls_;
  const Operations own_;
  // Marks the wr_id of sends that this class has posted.
  const RequestMark mark_;

  TaskLock lock_;
  TaskObjects objects_;
  WakeSignal signal_;
  CalculationQueue calculations_;
  CompletionPoller poller_{own_, mark_, objects_, queues_};
  DeviceRequests requests_{{context_, calls_, own_, mark_},
                           {objects_, queues_, poller_, calculations_, signal_}};
  TaskQueues queues_{requests_};
  // The thread ends before the objects above are destroyed.
  ProgressThread thread_{calls_, own_, {lock_, objects_, queues_, poller_, calculations_, signal_}};
};

}  // namespace scela::hca::progress
