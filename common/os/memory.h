// The memory that a process uses, as the kernel counts it. Figures are bytes, and zero if the
// kernel does not report them.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace scela {

struct MemoryUse {
  std::uint64_t private_bytes = 0;  // pages that no other process maps
  // Shared pages are divided by their users; 0 in a quick answer.
  std::uint64_t proportional_bytes = 0;
  std::uint64_t resident_bytes = 0;
};

// Reads smaps_rollup, which walks the page tables (about 0.1 ms). A `pid` of 0 is this process.
MemoryUse memory_use(pid_t pid = 0);
// Reads counters of this process, about ten times faster. Anonymous pages stand for private ones.
MemoryUse quick_memory_use();

}  // namespace scela
