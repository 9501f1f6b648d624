#include "tests/support/memory/failing_memory.h"

#include <cstdlib>
#include <limits>
#include <new>

namespace scela::test {

namespace {

constexpr long kNever = 0, kFailed = -1;
thread_local long until_failure = kNever;
constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
thread_local std::size_t largest = kAny;

// Returns true if this allocation is the one that fails.
bool fails() {
  if (until_failure <= 0 || --until_failure != 0) return false;
  until_failure = kFailed;
  return true;
}

}  // namespace

FailingMemory::FailingMemory(long n) {
  until_failure = n;
}
FailingMemory::~FailingMemory() {
  until_failure = kNever;
}
bool FailingMemory::has_failed() const {
  return until_failure == kFailed;
}

NoLargeMemory::NoLargeMemory(std::size_t bytes) {
  largest = bytes;
}
NoLargeMemory::~NoLargeMemory() {
  largest = kAny;
}

SparedMemory::SparedMemory() : kept_(until_failure) {
  until_failure = kNever;
}
SparedMemory::~SparedMemory() {
  until_failure = kept_;
}

void allocate_nothing() {
  if (fails()) throw std::bad_alloc();
}

}  // namespace scela::test

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  scela::test::allocate_nothing();
  if (bytes > scela::test::largest) throw std::bad_alloc();
  void* const memory = std::malloc(bytes);  // NOLINT(cppcoreguidelines-no-malloc)
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes);  // NOLINT(cppcoreguidelines-no-malloc)
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}
