// The DeviceRequests of a DeviceTasks turn what a program posts into entries of TaskQueues, and
// entries that are due into requests to the device or calculations. They are the host of
// TaskQueues. All functions need the TaskLock.
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

class DeviceRequests final : public Host {
 public:
  // The device, by its context, the functions of libibverbs and its own operations. The mark is
  // that of `poller`.
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

  // These post one request or task, at once or later, and return 0 or an errno (ENOMEM: no room).
  int accept_send(TaskQp& qp, const ibv_send_wr& request);
  int accept_receive(TaskQp& qp, const ibv_recv_wr& request);
  int accept_task(TaskQp& qp, const scela_task& task);

  // The contract of the overrides is in hca/progress/core/task_queues.h.
  Posted post_send(PairId pair, const Entry& entry) override;
  Posted post_receive(PairId pair, const Entry& entry) override;
  std::optional<Status> calculate(PairId pair, const Entry& entry) override;
  bool complete(CountId count, PairId pair, const Entry& entry, bool receives) override;
  void broken(PairId pair) override;
  void watch(CountId count, bool wanted) override;

 private:
  // Returns whether the send queue has room. Polls the device first if it has none.
  bool make_room(TaskQp& qp);
  // Translates the task to `entry`. Returns 0, or EINVAL if the task is wrong.
  int fill(const TaskQp& qp, const scela_task& task, Entry& entry);
  // Posts a request to the device. Returns 0 or an errno; after ENOMEM it can be tried again later.
  int post_to_device(TaskQp& qp, ibv_send_wr request, std::uint64_t serial, bool signalled);

  const Device device_;
  const Work work_;
};

}  // namespace scela::hca::progress
