// Which processors a process may run on.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <vector>

#include "common/core/rank_set.h"

namespace scela {

// A set of processors as sched_setaffinity wants it; any number of processors.
class CpuMask {
 public:
  CpuMask() = default;
  explicit CpuMask(const std::vector<int>& cpus);
  explicit CpuMask(const RankSet& cpus);
  std::size_t bytes() const { return words_.size() * sizeof(unsigned long); }
  const cpu_set_t* data() const { return reinterpret_cast<const cpu_set_t*>(words_.data()); }

 private:
  void add(int cpu);
  std::vector<unsigned long> words_;
};

// Processors that a process, or a thread, may run on, ascending; 0: the caller. Empty if the system
// does not say.
std::vector<int> allowed_cpus(pid_t process = 0);

}  // namespace scela
