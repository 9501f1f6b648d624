// The memory allocator of a test that lets allocations of one thread fail.
#pragma once

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

// Counts as an allocation, and fails as one.
void allocate_nothing();

}  // namespace scela::test
