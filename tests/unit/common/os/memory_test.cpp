#include "common/os/memory.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cstring>

namespace memory_test {

using namespace scela;

TEST_CASE("private memory grows by what a process writes to") {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  const MemoryUse before = memory_use();
  const MemoryUse quick_before = quick_memory_use();
  void* block = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(block != MAP_FAILED);
  std::memset(block, 1, kBytes);
  const MemoryUse after = memory_use();
  const MemoryUse quick_after = quick_memory_use();
  ::munmap(block, kBytes);
  CHECK(after.private_bytes >= before.private_bytes + kBytes / 2);
  CHECK(after.resident_bytes >= after.private_bytes);
  CHECK(after.proportional_bytes >= after.private_bytes / 2);
  CHECK(quick_after.private_bytes >= quick_before.private_bytes + kBytes / 2);
}

TEST_CASE("a process that is not there uses nothing") {
  CHECK(memory_use(4'000'000).resident_bytes == 0);
}

}  // namespace memory_test
