// The memory allocator of a test that counts.
#pragma once

#include <atomic>
#include <cstddef>

namespace scela::test {

// The number of allocations of all threads since the process began.
extern std::atomic<std::size_t> allocations;

}  // namespace scela::test
