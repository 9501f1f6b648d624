// The pools of one process: memory files that the process and the engine both map. Bytes move in
// and out of them without a system call. This works whether or not the process runs, and even if
// the kernel denies access to its memory (hca/include/scela/hca_memory.h). Each Process of Machine
// has one; only the engine's thread uses it.
//
// The engine takes a file that is sealed against shrinking and has all its pages. So no page is
// missing, unless the process takes pages away again or one fails (sigbus_copy.h). An address
// names a byte of a pool. It lies above all addresses of programs (kPools), is never used for
// another pool, and has no meaning for another process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/os/fd.h"
#include "hca/core/model/host.h"

namespace scela::hca {

// The pools that one process has registered.
class Pools {
 public:
  // The limits of what the engine maps for one process, and for all processes. The kernel allows
  // 65530 mappings in all.
  static constexpr std::size_t kMax = 256, kMaxOfAll = 4096;
  static constexpr std::uint64_t kMaxBytes = 16ULL << 30, kMaxBytesOfAll = 256ULL << 30;

  Pools() = default;
  Pools(Pools&&) = default;
  Pools& operator=(Pools&&) = default;

  // The part of a file that becomes a pool, in bytes.
  struct Part {
    std::uint64_t offset = 0;  // in the file
    std::uint64_t length = 0;
    bool writable = false;
  };
  // The result of map(): if `error` is 0, the address of the pool's first byte.
  struct Made {
    int error = 0;  // errno
    std::uint64_t address = 0;
  };
  // Maps a part of a file that the process has handed over; the descriptor may be closed
  // afterwards. A file that is no memory file, can shrink or is shorter than the part gives EINVAL.
  // Too few pages give EFAULT, a file that may not be written to EACCES, and a limit ENOMEM.
  Made map(const Fd& file, const Part& part);
  // Gives the pool that begins at `address` the handle of its memory region. unmap_region() finds
  // the pool by that handle.
  void name(std::uint64_t address, std::uint32_t region);
  // Unmap a pool, by its first address or by the handle of its region. An unknown one is ignored.
  void unmap(std::uint64_t address);
  void unmap_region(std::uint32_t region);

  // Returns where the engine maps `bytes` bytes from `address` on. Returns null if no pool holds
  // the whole range, or if `writes` is true and the pool is read-only.
  std::byte* at(std::uint64_t address, std::uint64_t bytes, bool writes) const;
  // Copy bytes out of a pool or into it. They return false if at() returns null, or if some of the
  // pages are missing.
  bool read(std::uint64_t address, std::span<std::byte> to) const;
  bool write(std::uint64_t address, std::span<const std::byte> from) const;

  // Return how many pools there are, and how many bytes are mapped for them.
  std::size_t count() const { return pools_.size(); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  // A mapping that is removed when this object is destroyed.
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
    // The address of the pool's first byte, which lies `begin` bytes into the mapping.
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    std::uint64_t begin = 0;
    bool writable = false;
    std::uint32_t region = 0;  // handle of its memory region
    Mapping mapping;
  };

  std::vector<Pool> pools_;      // in rising order of addresses
  std::uint64_t next_ = kPools;  // address of the next pool
  std::uint64_t bytes_ = 0;      // mapped
};

}  // namespace scela::hca
