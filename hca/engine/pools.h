// The pools of one process: files in memory that it and the engine both map, so that bytes go in
// and out of them without a system call, whether the process runs or not and whatever the kernel
// lets the engine at (include/scela/hca_memory.h).
//
// The engine takes a file that the kernel has sealed against shrinking, and that has its memory
// already: so no page of it is missing, unless the process takes pages away again, or one fails
// (guarded_copy.h). A pool is named by its address, which lies above all addresses of programs, is
// not given again, and means nothing to another process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/os/fd.h"
#include "hca/core/host.h"

namespace scela::hca {

class Pools {
 public:
  // What the engine maps for one process, and for all (the kernel bounds mappings, 65530 in all).
  static constexpr std::size_t kMost = 256, kMostOfAll = 4096;
  static constexpr std::uint64_t kMostBytes = 16ULL << 30, kMostBytesOfAll = 256ULL << 30;

  Pools() = default;
  Pools(Pools&&) = default;
  Pools& operator=(Pools&&) = default;

  struct Part {
    std::uint64_t offset = 0;  // in the file
    std::uint64_t length = 0;
    bool writable = false;
  };
  struct Made {
    int error = 0;  // errno
    std::uint64_t address = 0;
  };
  // Of a file that the process has handed over.
  Made map(const Fd& file, const Part& part);
  // It is known as that region from now on.
  void name(std::uint64_t address, std::uint32_t region);
  void unmap(std::uint64_t address);
  void unmap_region(std::uint32_t region);

  // Null: there is no pool that holds all of that, or it is not to be written to.
  std::byte* at(std::uint64_t address, std::uint64_t bytes, bool writes) const;
  // False: as above, or some of it does not answer.
  bool read(std::uint64_t address, std::span<std::byte> to) const;
  bool write(std::uint64_t address, std::span<const std::byte> from) const;

  std::size_t count() const { return pools_.size(); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  class Mapping {
   public:
    Mapping(std::byte* base, std::uint64_t bytes) : base_(base), bytes_(bytes) {}
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping();
    std::byte* base() const { return base_; }
    std::uint64_t bytes() const { return bytes_; }

   private:
    std::byte* base_;
    std::uint64_t bytes_;
  };
  struct Pool {
    std::uint64_t address = 0;  // of its first byte, `begin` bytes into the mapping
    std::uint64_t length = 0;
    std::uint64_t begin = 0;
    bool writable = false;
    std::uint32_t region = 0;
    Mapping mapping;
  };

  std::vector<Pool> pools_;  // by address: each is above those before it
  std::uint64_t next_ = kPools;
  std::uint64_t bytes_ = 0;  // mapped
};

}  // namespace scela::hca
