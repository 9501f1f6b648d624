// A queue that takes tasks only (scela/verbs_ext.h), and the queue pairs and completion queues that
// tasks have to do with, by whoever executes tasks for the device.
#pragma once

#include <cstdint>
#include <span>

#include "comm-channel/verbs/capability.h"
#include "comm-channel/verbs/handles.h"

namespace scela::channel::verbs {

// What tasks wait for; and queue pairs that take tasks or hold their requests: `flags` of
// scela_qp_create_flags. channel: none where a thread executes tasks.
Result<Cq> create_task_cq(const Capability& capability, const Context& context, int entries,
                          const CompChannel* channel = nullptr);
Result<Qp> create_task_qp(const Capability& capability, const Pd& pd, ibv_qp_type type,
                          const Cq& sends, const Cq& receives, const Srq& srq,
                          const QueueSizes& sizes, std::uint32_t flags);

class ManagementQueue {
 public:
  // Completions of tasks that ask for one come to `completions`, a task's completion queue.
  static Result<ManagementQueue> make(const Capability& capability, const Pd& pd,
                                      const Cq& completions, std::uint32_t max_tasks);
  // All, or those before the one that the error speaks of.
  Result<void> post(std::span<scela_task> tasks);
  const Qp& queue_pair() const { return qp_; }

 private:
  ManagementQueue(const TaskSymbols& tasks, Qp qp) : tasks_(&tasks), qp_(std::move(qp)) {}
  const TaskSymbols* tasks_;
  Qp qp_;
};

// To the send queue of any queue pair that takes tasks.
Result<void> post_tasks(const TaskSymbols& symbols, const Qp& qp, std::span<scela_task> tasks);

}  // namespace scela::channel::verbs
