// The memory allocator of a test that lets allocations of one thread fail.
#pragma once

#include <cstddef>

namespace scela::test {

// While it exists, the n-th allocation by operator new of this thread from now on throws
// std::bad_alloc, and no other; n counts from 1.
class FailingMemory {
 public:
  explicit FailingMemory(long n);
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
  ~FailingMemory();
  bool has_failed() const;
};

// While it exists, each allocation by operator new of this thread of more bytes than these throws
// std::bad_alloc, as where only small pieces of memory are left.
class NoLargeMemory {
 public:
  explicit NoLargeMemory(std::size_t bytes);
  NoLargeMemory(const NoLargeMemory&) = delete;
  NoLargeMemory& operator=(const NoLargeMemory&) = delete;
  ~NoLargeMemory();
};

// While it exists, allocations of this thread neither fail nor count.
class SparedMemory {
 public:
  SparedMemory();
  SparedMemory(const SparedMemory&) = delete;
  SparedMemory& operator=(const SparedMemory&) = delete;
  ~SparedMemory();

 private:
  long kept_;
};

// Counts as an allocation, and fails as an allocation does.
void allocate_nothing();

}  // namespace scela::test
