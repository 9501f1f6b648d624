// The processors on which a process may run: a mask for the kernel, and a question to it. The
// functions do not block and keep no state.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <vector>

#include "common/core/rank_set.h"

namespace scela {

// A set of any number of processors, in the form that sched_setaffinity takes.
class CpuMask {
 public:
  // Makes an empty set.
  CpuMask() = default;
  // The numbers of processors are the operating system's, at least 0.
  explicit CpuMask(const std::vector<int>& cpus);
  explicit CpuMask(const RankSet& cpus);
  // Returns the size and the address of the mask, as sched_setaffinity takes them.
  std::size_t bytes() const { return words_.size() * sizeof(unsigned long); }
  const cpu_set_t* data() const { return reinterpret_cast<const cpu_set_t*>(words_.data()); }

 private:
  void add(int cpu);
  std::vector<unsigned long> words_;
};

// Returns the processors that a process or a thread may run on (sched_getaffinity), in ascending
// order. `process` is its id; 0 is the calling thread. The list is empty if the system does not
// report them.
std::vector<int> allowed_cpus(pid_t process = 0);

}  // namespace scela
