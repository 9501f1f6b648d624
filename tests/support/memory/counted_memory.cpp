#include "tests/support/memory/counted_memory.h"

#include <cstdlib>
#include <new>

namespace scela::test {
std::atomic<std::size_t> allocations{0};
}  // namespace scela::test

using scela::test::allocations;

namespace {

void* counted(std::size_t bytes) {
  ++allocations;
  return std::malloc(bytes);  // NOLINT(cppcoreguidelines-no-malloc)
}
}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const auto unit = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
}
void operator delete(void* memory) noexcept {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}
