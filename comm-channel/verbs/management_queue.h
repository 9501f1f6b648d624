// A queue that takes tasks only (scela/verbs_ext.h), and the queue pairs and completion queues that
// tasks work on. The device's engine or a thread executes the tasks.
#pragma once

#include <cstdint>
#include <span>

#include "comm-channel/verbs/capability.h"
#include "comm-channel/verbs/verbs_handles.h"

namespace scela::channel::verbs {

// These make a completion queue that tasks wait for, and a queue pair that takes tasks or holds
// their requests. `flags` are those of scela_qp_create_flags. `channel` is null if a thread
// executes tasks. They return an error if the device has no tasks (Executor::none).
Result<Cq> create_task_cq(const Capability& capability, const Context& context, int entries,
                          const CompChannel* channel = nullptr);
Result<Qp> create_task_qp(const Capability& capability, const Pd& pd, ibv_qp_type type,
                          const Cq& sends, const Cq& receives, const Srq& srq,
                          const QueueSizes& sizes, std::uint32_t flags);

// A queue pair that takes tasks only.
class ManagementQueue {
 public:
  // `completions` is a task completion queue. It gets the completions of tasks that ask for one.
  static Result<ManagementQueue> make(const Capability& capability, const Pd& pd,
                                      const Cq& completions, std::uint32_t max_tasks);
  // Posts all tasks. If one is refused, those before it are posted, and the error names it.
  Result<void> post(std::span<scela_task> tasks);
  const Qp& queue_pair() const { return qp_; }

 private:
  ManagementQueue(const TaskSymbols& tasks, Qp qp) : tasks_(&tasks), qp_(std::move(qp)) {}
  const TaskSymbols* tasks_;
  Qp qp_;
};

// Posts to the send queue of any queue pair that takes tasks, as ManagementQueue::post() does. It
// links the tasks by their `next`.
Result<void> post_tasks(const TaskSymbols& symbols, const Qp& qp, std::span<scela_task> tasks);

}  // namespace scela::channel::verbs
