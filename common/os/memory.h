// The memory that a process uses, as the kernel counts it, for --stats. Figures are bytes, and zero
// if the kernel does not report them. The functions keep no state; any thread may call them.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace scela {

// The memory of a process, in bytes.
struct MemoryUse {
  std::uint64_t private_bytes = 0;  // pages that no other process maps
  // Shared pages are divided by their users; 0 in a quick answer.
  std::uint64_t proportional_bytes = 0;
  std::uint64_t resident_bytes = 0;  // all pages in memory, shared ones too
};

// Returns the memory of a process. Reads smaps_rollup, which walks the page tables (about 0.1 ms).
// A `pid` of 0 is this process.
MemoryUse memory_use(pid_t pid = 0);
// Returns the memory of this process from counters, about ten times faster. Anonymous pages stand
// for private ones.
MemoryUse quick_memory_use();

}  // namespace scela
