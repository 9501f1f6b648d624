// The ProgressThread continues the tasks of a DeviceTasks while no thread of the program polls. It
// sleeps unless a task waits for completions that only polling finds.
//
// It has the completion channel that its sleep listens to. Functions that make or end it need calls
// one at a time, without the TaskLock; the thread itself takes that lock.
#pragma once

#include <infiniband/verbs.h>

#include <mutex>
#include <thread>

#include "hca/progress/calculation_queue.h"
#include "hca/progress/completion_poller.h"
#include "hca/progress/core/task_queues.h"
#include "hca/progress/task_lock.h"
#include "hca/progress/task_objects.h"
#include "hca/progress/verbs_calls.h"
#include "hca/progress/wake_signal.h"

namespace scela::hca::progress {

class ProgressThread {
 public:
  // The parts that the thread works on. The TaskLock protects all of them.
  struct Work {
    TaskLock& lock;
    TaskObjects& objects;
    TaskQueues& queues;
    CompletionPoller& poller;
    CalculationQueue& calculations;
    WakeSignal& signal;
  };
  ProgressThread(const VerbsCalls& calls, const Operations& device, const Work& work)
      : calls_(calls), device_(device), work_(work) {}
  ~ProgressThread() { stop(); }
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // Makes the descriptors that the thread sleeps on, if there are none. Returns 0 or an errno.
  int open(ibv_context& context);
  // Destroys them. The thread must not run, and no queue may use channel().
  void close();
  // Returns the channel for completion queues, or null before open().
  ibv_comp_channel* channel() const { return channel_; }
  // Starts the thread unless it runs. Returns 0 or an errno.
  int start();
  // Ends the thread and waits for it.
  void stop();

 private:
  // The thread's main function. The functions below run under the lock.
  void serve();
  // Executes tasks, one long calculation, or polls. Returns true if there may be more to do.
  bool work(std::unique_lock<std::mutex>& lock);
  // These two return true if a completion was found. spin() polls the watched queues that report no
  // events several times. arm() asks the device for events first.
  bool spin();
  bool arm();
  // The device reports no events any more: from now on the thread polls.
  void go_deaf();
  // Sleeps without the lock until an event comes or the signal ends the sleep. If the device
  // reports no events and queues must be polled, the sleep is short.
  void sleep(std::unique_lock<std::mutex>& lock);
  // Takes all events of the channel: their queues are not armed any more.
  void take_events();

  const VerbsCalls& calls_;
  const Operations& device_;
  const Work work_;
  ibv_comp_channel* channel_ = nullptr;
  std::thread thread_;
  bool stop_ = false;
  bool is_deaf_ = false;  // no events come: it must be polled
  int spins_ = 1;
};

}  // namespace scela::hca::progress
