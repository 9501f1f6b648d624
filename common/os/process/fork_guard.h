// Detects that a child process (fork) uses an object of its parent. The child has a copy of the
// memory, but neither the threads nor the connections that serve it. collectives/ and comm-channel/
// use it for objects that programs hold.
#pragma once

#include <pthread.h>

#include <atomic>

namespace scela {

// A member of an object that a child process cannot use. Any thread may call is_copy(); it costs
// one relaxed load.
class ForkGuard {
 public:
  ForkGuard() : forks_(forks()) {}
  // Returns true if this process was forked after the object was made.
  bool is_copy() const { return forks_ != until_here_.load(std::memory_order_relaxed); }

 private:
  // Returns the number of forks that have led to this process, counted from the first call on.
  static unsigned forks() {
    static const int counted = ::pthread_atfork(
        nullptr, nullptr, [] { until_here_.fetch_add(1, std::memory_order_relaxed); });
    static_cast<void>(counted);
    return until_here_.load(std::memory_order_relaxed);
  }

  inline static std::atomic<unsigned> until_here_{0};
  unsigned forks_;
};

}  // namespace scela
