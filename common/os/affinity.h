// The processors on which a process may run, and the NUMA domains of its memory: masks for the
// kernel, and a question to it. The functions do not block and keep no state.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <vector>

#include "common/core/placement/memory_domains.h"
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

// A policy of memory: the NUMA domains that it comes from, in the form that set_mempolicy(2)
// takes.
class MemoryPolicy {
 public:
  // `domains` has at least one, and `binding` is not none.
  MemoryPolicy(MemoryBinding binding, const DomainSet& domains);
  // Sets the policy of the calling thread, which programs that it executes inherit. Returns false,
  // with errno, if the kernel refuses. It allocates nothing and may run in a child of
  // start_child().
  bool set() const;

 private:
  int mode_;
  std::vector<unsigned long> words_;
};

// Returns the processors that a process or a thread may run on (sched_getaffinity), in ascending
// order. `process` is its id; 0 is the calling thread. The list is empty if the system does not
// report them.
std::vector<int> allowed_cpus(pid_t process = 0);

}  // namespace scela
