// The TaskLock protects all objects of one DeviceTasks. It is held for a bounded number of steps,
// and never during a long calculation or while a thread sleeps. The program's threads hold it by a
// Turn, and the progress thread lets them go first.
#pragma once

#include <sched.h>

#include <atomic>
#include <mutex>

namespace scela::hca::progress {

// A mutex, and the number of the program's threads that want it.
class TaskLock {
 public:
  // Holds the lock during its life; for the program's threads.
  class Turn {
   public:
    explicit Turn(TaskLock& lock) : lock_(lock) {
      lock_.coming_.fetch_add(1, std::memory_order_relaxed);
      lock_.mutex_.lock();
      lock_.coming_.fetch_sub(1, std::memory_order_relaxed);
    }
    ~Turn() { lock_.mutex_.unlock(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    TaskLock& lock_;
  };

  TaskLock() = default;
  TaskLock(const TaskLock&) = delete;
  TaskLock& operator=(const TaskLock&) = delete;

  // Returns the mutex, for the progress thread.
  std::mutex& mutex() { return mutex_; }
  // Called by the progress thread, which holds the lock by `held`. Releases the lock for a short
  // time, longer if threads of the program want it, and takes it again.
  void let_callers(std::unique_lock<std::mutex>& held) {
    held.unlock();
    for (int i = 0; i < kYields && coming_.load(std::memory_order_relaxed) > 0; ++i)
      ::sched_yield();
    held.lock();
  }

 private:
  static constexpr int kYields = 100;

  std::mutex mutex_;
  std::atomic<int> coming_{0};  // callers that want the lock
};

}  // namespace scela::hca::progress
