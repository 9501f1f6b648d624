// Memory that is set aside, so that a process without free memory can still report that to others.
// collectives/ uses it to tell other ranks that a rank cannot go on.
#pragma once

#include <cstddef>
#include <memory>

namespace scela {

// Takes kBytes of memory when it is made. Two threads must not use one object at once.
class SpareMemory {
 public:
  // Gives the memory back to the allocator, so that the next allocations succeed. A second call
  // does nothing.
  void release() { bytes_.reset(); }

 private:
  // Enough for some hundred short messages. The value is below the size from which malloc maps
  // memory of its own. The process may not get such memory back after it is freed.
  static constexpr std::size_t kBytes = std::size_t{64} * 1024;
  std::unique_ptr<std::byte[]> bytes_{new std::byte[kBytes]};
};

}  // namespace scela
