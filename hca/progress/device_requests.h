// The DeviceRequests of a DeviceTasks turn the posts of a program into entries of TaskQueues. They
// turn entries that are due into requests to the device or calculations. An entry is a request or a
// task that waits (hca/progress/core/task_queues.h). They are the host of TaskQueues. All functions
// need the TaskLock.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "hca/include/scela/verbs_ext.h"
#include "hca/progress/calculation_queue.h"
#include "hca/progress/completion_poller.h"
#include "hca/progress/core/task_queues.h"
#include "hca/progress/request_mark.h"
#include "hca/progress/task_objects.h"
#include "hca/progress/verbs_calls.h"
#include "hca/progress/wake_signal.h"

namespace scela::hca::progress {

// The host of one TaskQueues.
class DeviceRequests final : public Host {
 public:
  // The device: its context, the functions of libibverbs, its own functions for posts and polls,
  // and the mark of the poller. All references must live as long as this object.
  struct Device {
    const ibv_context& context;
    const VerbsCalls& calls;
    const Operations& operations;
    RequestMark mark;
  };
  // The parts that accept requests, and those that execute them.
  struct Work {
    TaskObjects& objects;
    TaskQueues& queues;
    CompletionPoller& poller;
    CalculationQueue& calculations;
    WakeSignal& signal;
  };
  DeviceRequests(const Device& device, const Work& work) : device_(device), work_(work) {}

  // These post one request or task, to the device at once or to TaskQueues for later. They return
  // 0, EINVAL if it is wrong, or ENOMEM if there is no room; a device may give other errnos.
  int accept_send(TaskQp& qp, const ibv_send_wr& request);
  int accept_receive(TaskQp& qp, const ibv_recv_wr& request);
  int accept_task(TaskQp& qp, const scela_task& task);

  // These implement Host (hca/progress/core/task_queues.h). They post a request that was due to the
  // device. They return `yes`, `full` if it must be tried again after a completion, or `refused`.
  Posted post_send(PairId pair, const Entry& entry) override;
  Posted post_receive(PairId pair, const Entry& entry) override;
  // Executes a short calculation, and leaves a long one to the thread (std::nullopt).
  std::optional<Status> calculate(PairId pair, const Entry& entry) override;
  // Hands a completion to the program. Returns false if the completion queue overran.
  bool complete(CountId count, PairId pair, const Entry& entry, bool receives) override;
  // Sets the device's queue pair to the error state.
  void broken(PairId pair) override;
  // Makes the poller look at the completion queue, or no longer.
  void watch(CountId count, bool wanted) override;

 private:
  // Returns true if the send queue has room. Polls the device first if it has none.
  bool make_room(TaskQp& qp);
  // Translates the task to `entry`. Returns 0, or EINVAL if the task is wrong.
  int fill(const TaskQp& qp, const scela_task& task, Entry& entry);
  // Posts a request to the device, under a wr_id made from `serial`. `signalled` says whether the
  // program gets its completion. Returns 0 or an errno; after ENOMEM it can be tried again later.
  int post_to_device(TaskQp& qp, ibv_send_wr request, std::uint64_t serial, bool signalled);

  const Device device_;
  const Work work_;
};

}  // namespace scela::hca::progress
