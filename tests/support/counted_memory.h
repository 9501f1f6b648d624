// The memory allocator of a test that counts.
#pragma once

#include <atomic>
#include <cstddef>

namespace scela::test {

// Since the process began; of all threads.
extern std::atomic<std::size_t> allocations;

}  // namespace scela::test
