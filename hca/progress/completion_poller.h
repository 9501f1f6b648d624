// The CompletionPoller polls the completion queues of a device for a DeviceTasks. It decides which
// queue pair each completion belongs to and whether the program sees it, and reports it to
// TaskQueues. The program's threads and the progress thread use it; all of its functions need the
// TaskLock. None blocks.
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

// The watched completion queues, and what becomes of a completion. A queue is watched if a queue
// pair waits for its completions.
class CompletionPoller {
 public:
  // `device` are the device's own functions, and `mark` makes the wr_id of requests that
  // DeviceTasks posts. All references must live as long as this object.
  CompletionPoller(const Operations& device, RequestMark mark, TaskObjects& objects,
                   TaskQueues& queues)
      : device_(device), mark_(mark), objects_(objects), queues_(queues) {}

  // Polls the device once for this queue, and handles the completions that come. Returns true if
  // one came.
  bool look(TaskCq& cq);
  // Polls a few of the watched queues in turn, since the program may not poll them.
  void look_around();
  // Appends a completion to those that the program gets from this queue. Returns false and drops it
  // if the queue overran.
  bool put(TaskCq& cq, const ibv_wc& wc);
  // Returns the device's completion that is being reported to TaskQueues now, or null if none is.
  const ibv_wc* current() const { return current_; }
  // Drops the completions of a queue pair that is reset or destroyed, from the device and from
  // those for the program.
  void forget(TaskQp& qp);

  // Adds the queue to the watched ones, or removes it. remove() is called when a queue is
  // destroyed.
  void watch(TaskCq& cq, bool wanted);
  void remove(TaskCq& cq) { std::erase(watched_, &cq); }
  std::span<TaskCq* const> watched() const { return watched_; }
  // Returns how many watched queues will send no event for their next completion: they must be
  // polled.
  std::size_t unarmed() const;
  // Polls those once. Returns true if a completion came.
  bool look_at_unarmed();

 private:
  // Handles one completion of the device: it goes to the program, to an entry of TaskQueues, or is
  // dropped.
  void handle(TaskCq& cq, const ibv_wc& wc);

  const Operations& device_;
  const RequestMark mark_;
  TaskObjects& objects_;
  TaskQueues& queues_;
  std::vector<TaskCq*> watched_;
  std::size_t next_look_ = 0;  // index in watched_
  const ibv_wc* current_ = nullptr;
};

}  // namespace scela::hca::progress
