// How much memory a process uses, as the kernel counts it. Bytes; zeros if it does not tell.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace scela {

struct MemoryUse {
  std::uint64_t private_bytes = 0;       // pages nobody else maps
  std::uint64_t proportional_bytes = 0;  // shared pages divided by their users; 0 in a quick answer
  std::uint64_t resident_bytes = 0;
};

// From smaps_rollup, which walks the page tables (about 0.1 ms); 0 is this process.
MemoryUse memory_use(pid_t pid = 0);
// From counters: anonymous pages stand for private ones. About ten times cheaper.
MemoryUse quick_memory_use();

}  // namespace scela
