// The chunks of memory that one process shares with the engine. A chunk is a memory file that both
// map; the process gets its descriptor. This class makes chunks, cuts them up
// (hca/core/model/arena.h) and tells which descriptors the process needs. Each Process of Machine
// has one; only the engine's thread uses it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/os/sealed_memory.h"
#include "hca/core/model/arena.h"
#include "hca/core/model/host.h"

namespace scela::hca {

// The chunks of one process, numbered from 0.
class Chunks {
 public:
  // Makes chunk 0, which begins with the process's page. Returns an error if there is no memory or
  // no descriptor left.
  static Result<Chunks> make();

  // Returns the page of doorbells at the start of chunk 0.
  ProcessPage& page() const { return *page_; }

  // Allocates `bytes` bytes of zeros. `base` of the result is null if there is no memory left.
  Host::Shared allocate(std::uint64_t bytes);
  // Frees a range that allocate() has returned; any other range is ignored.
  void release(const Region& region);

  // Returns the descriptors of the chunks that the process does not have yet, ordered by number.
  // They are still owned here.
  std::vector<int> new_descriptors() const;
  // Called once the process has those descriptors: closes them.
  void handed_over();

  // Return the bytes of all chunks, and those that are allocated.
  std::uint64_t bytes() const { return arena_.bytes(); }
  std::uint64_t used() const { return arena_.used(); }

 private:
  Chunks() : arena_(Arena::Sizes{}) {}

  Arena arena_;
  std::map<std::uint32_t, SealedMemory> memory_;
  // Numbers of chunks that the process does not have yet.
  std::vector<std::uint32_t> new_;
  ProcessPage* page_ = nullptr;
};

}  // namespace scela::hca
