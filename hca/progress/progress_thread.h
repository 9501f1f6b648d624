// The ProgressThread continues the tasks of a DeviceTasks while no thread of the program polls. It
// sleeps unless a queue pair waits for completions that only polling finds.
//
// It has the completion channel that its sleep listens to. Functions that make or end it need calls
// one at a time, without the TaskLock; the thread itself takes that lock. A completion queue is
// watched if a queue pair waits for its completions. It is armed if the device will send an event
// for the next one.
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

// The thread, and what it sleeps on.
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
  // Destroys them. The thread must not run, and no completion queue may use channel().
  void close();
  // Returns the completion channel that completion queues must be made with, or null before open().
  ibv_comp_channel* channel() const { return channel_; }
  // Starts the thread unless it runs. open() comes before. Returns 0 or an errno.
  int start();
  // Ends the thread and waits for it. Does nothing if none runs.
  void stop();

 private:
  // The thread's main function. The functions below need the lock.
  void serve();
  // Executes tasks, or one long calculation, and polls. Returns true if there may be more to do.
  bool work(std::unique_lock<std::mutex>& lock);
  // These two return true if a completion was found. spin() polls the watched queues that are not
  // armed, several times. arm() arms the watched queues, and polls each once after that.
  bool spin();
  bool arm();
  // Called when the device sends no events any more: from now on the thread polls.
  void begin_polling();
  // Sleeps without the lock until an event comes or the signal ends the sleep. If the device sends
  // no events and queues are watched, for at most 10 ms.
  void sleep(std::unique_lock<std::mutex>& lock);
  // Receives all events of the channel: their queues are not armed any more.
  void take_events();

  const VerbsCalls& calls_;
  const Operations& device_;
  const Work work_;
  ibv_comp_channel* channel_ = nullptr;
  std::thread thread_;
  bool stop_ = false;     // the thread must end
  bool is_deaf_ = false;  // the device sends no events
  int spins_ = 1;         // polls of the next spin()
};

}  // namespace scela::hca::progress
