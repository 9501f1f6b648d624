#include "collectives/executors/thread_binding.h"

#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <numeric>
#include <vector>

#include "collectives/executors/thread_placement.h"
#include "common/core/error.h"
#include "common/core/text.h"
#include "common/os/affinity.h"
#include "common/os/machine_topology.h"

namespace scela::collectives {

namespace {

constexpr int kMaxProcessors = 8192;  // more than any kernel has

bool bind(const CpuMask& mask) {
  return ::sched_setaffinity(0, mask.bytes(), mask.data()) == 0;
}

}  // namespace

std::string bind_this_thread(const ThreadPlacement& placement) {
  ::pthread_setname_np(::pthread_self(), "scela-progress");
  if (placement.own >= placement.ranks.size())
    return "a progress thread, not bound: the processors of the ranks are not known";
  const CpuMask before(allowed_cpus());
  std::vector<int> all(kMaxProcessors);
  std::iota(all.begin(), all.end(), 0);
  // The kernel keeps only the processors that the control group allows.
  if (!bind(CpuMask(all)))
    return cat("a progress thread, not bound: sched_setaffinity: ", errno_text(errno));
  const Topology machine = read_topology();
  const ThreadPlace place = places_of_threads(machine, placement.ranks)[placement.own];
  if (!place.cpus.empty() && bind(CpuMask(place.cpus)))
    return cat("a progress thread on ", place.why);
  bind(before);
  return cat("a progress thread, not bound: ",
             place.cpus.empty() ? place.why : cat("sched_setaffinity: ", errno_text(errno)));
}

}  // namespace scela::collectives
