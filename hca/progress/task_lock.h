// The TaskLock protects all objects of one DeviceTasks. It is held for a bounded number of steps,
// and never during a long calculation or while a thread sleeps. The program's threads hold it by a
// Turn, and the progress thread lets them go first.
#pragma once

#include <sched.h>

#include <atomic>
#include <mutex>

namespace scela::hca::progress {

class TaskLock {
 public:
  // Holds the lock.
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

  std::mutex& mutex() { return mutex_; }
  // Releases the lock for a short time, longer if callers want it.
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
