// The chunks of memory that one process shares with the engine: made, cut up (hca/core/arena.h),
// and handed over.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/os/sealed_memory.h"
#include "hca/core/arena.h"
#include "hca/core/host.h"

namespace scela::hca {

class Chunks {
 public:
  // Chunk 0, with the process's page at its start.
  static Result<Chunks> make();

  ProcessPage& page() const { return *page_; }

  Host::Shared allocate(std::uint64_t bytes);
  void release(const Region& region);

  // Of the chunks that the process was not given yet, in the order of their numbers.
  std::vector<int> new_descriptors() const;
  void handed_over();

  std::uint64_t bytes() const { return arena_.bytes(); }
  std::uint64_t used() const { return arena_.used(); }

 private:
  Chunks() : arena_(Arena::Sizes{}) {}

  Arena arena_;
  std::map<std::uint32_t, SealedMemory> memory_;
  std::vector<std::uint32_t> new_;
  ProcessPage* page_ = nullptr;
};

}  // namespace scela::hca
