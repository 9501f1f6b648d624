// Memory that is set aside, so that a process that has no more can still tell others of that.
#pragma once

#include <cstddef>
#include <memory>

namespace scela {

// Not for two threads at once.
class SpareMemory {
 public:
  // The program's allocator has it from then on; another call does nothing.
  void release() { bytes_.reset(); }

 private:
  // Some hundred short messages. Below the size from which malloc maps memory of its
  // own: what is freed there may not be had again.
  static constexpr std::size_t kBytes = std::size_t{64} * 1024;
  std::unique_ptr<std::byte[]> bytes_{new std::byte[kBytes]};
};

}  // namespace scela
