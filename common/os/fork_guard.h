// Whether what was made by a process is used by a child of it (fork): the child has a copy of the
// memory, but neither the threads nor the connections that serve it.
#pragma once

#include <pthread.h>

#include <atomic>

namespace scela {

// A member of what cannot be used by a child. Any thread; one relaxed load.
class ForkGuard {
 public:
  ForkGuard() : forks_(forks()) {}
  bool is_copy() const { return forks_ != until_here_.load(std::memory_order_relaxed); }

 private:
  // How many have led to this process. Counted from the first call on.
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
