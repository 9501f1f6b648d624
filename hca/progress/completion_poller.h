// The CompletionPoller polls the completion queues of a device for a DeviceTasks. It decides which
// queue pair each completion belongs to and whether the program sees it, and reports it to
// TaskQueues. The program's threads and the progress thread use it; all of its functions need the
// TaskLock.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hca/progress/core/task_queues.h"
#include "hca/progress/request_mark.h"
#include "hca/progress/task_objects.h"
#include "hca/progress/verbs_calls.h"

namespace scela::hca::progress {

class CompletionPoller {
 public:
  CompletionPoller(const Operations& device, RequestMark mark, TaskObjects& objects,
                   TaskQueues& queues)
      : device_(device), mark_(mark), objects_(objects), queues_(queues) {}

  // Polls the device once for this queue, and handles what comes. Returns true if a completion
  // came.
  bool look(TaskCq& cq);
  // Polls queues that tasks wait for and that the program may not poll.
  void look_around();
  // Appends a completion for the program. Returns false if the queue overran, and drops it then.
  bool put(TaskCq& cq, const ibv_wc& wc);
  // Returns the completion of the device that the poller reports to TaskQueues, or null.
  const ibv_wc* current() const { return current_; }
  // Drops the completions of a queue pair that is reset or destroyed.
  void forget(TaskQp& qp);

  // The watched queues are those that tasks wait for.
  void watch(TaskCq& cq, bool wanted);
  // Says that a queue is destroyed.
  void remove(TaskCq& cq) { std::erase(watched_, &cq); }
  std::span<TaskCq* const> watched() const { return watched_; }
  // Returns how many of them the device does not report on.
  std::size_t unarmed() const;
  // Polls those. Returns true if a completion came.
  bool look_at_unarmed();

 private:
  // Handles one completion of the device: it goes to the program, to a task, or nowhere.
  void handle(TaskCq& cq, const ibv_wc& wc);

  const Operations& device_;
  const RequestMark mark_;
  TaskObjects& objects_;
  TaskQueues& queues_;
  std::vector<TaskCq*> watched_;
  std::size_t next_look_ = 0;  // in watched_
  const ibv_wc* current_ = nullptr;
};

}  // namespace scela::hca::progress
