// The chunks of memory that one process shares with the engine. This class makes them, cuts them up
// (hca/core/model/arena.h) and hands them over. Each Process of Machine has one; only the engine's
// thread uses it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/os/sealed_memory.h"
#include "hca/core/model/arena.h"
#include "hca/core/model/host.h"

namespace scela::hca {

class Chunks {
 public:
  // Makes chunk 0, which begins with the process's page.
  static Result<Chunks> make();

  ProcessPage& page() const { return *page_; }

  // The contract is in hca/core/model/host.h.
  Host::Shared allocate(std::uint64_t bytes);
  void release(const Region& region);

  // Returns the descriptors of the chunks that the process does not have yet, ordered by number.
  // handed_over() is called once the process has them. The descriptors are still owned here, and
  // handed_over() closes them.
  std::vector<int> new_descriptors() const;
  void handed_over();

  // The bytes of all chunks, and those that are allocated.
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
