// Which processors a process may run on, and how they are shared out.
//
// Simulated nodes of one machine each get a share of its processors before ranks are bound, so that
// binding means what it would on machines of their own. Sharing is pure arithmetic on processor
// numbers.
#pragma once

#include <sched.h>

#include <cstdint>
#include <vector>

namespace scela {

// A set of processors as sched_setaffinity wants it; any number of processors.
class CpuMask {
 public:
  CpuMask() = default;
  explicit CpuMask(const std::vector<int>& cpus);
  std::size_t bytes() const { return words_.size() * sizeof(unsigned long); }
  const cpu_set_t* data() const { return reinterpret_cast<const cpu_set_t*>(words_.data()); }

 private:
  std::vector<unsigned long> words_;
};

// Processors this process may run on, ascending; empty if the system does not say.
std::vector<int> allowed_cpus();

// The share of the index-th of `count` equal users: contiguous, sizes differing by at most one;
// with more users than processors each gets one, in turn. Requires index < count.
std::vector<int> share_of(const std::vector<int>& cpus, std::uint32_t index, std::uint32_t count);

// The processor for the index-th rank of a node with this share; more ranks than processors wrap
// around. Requires a non-empty share.
int cpu_for(const std::vector<int>& share, std::uint32_t index);

}  // namespace scela
