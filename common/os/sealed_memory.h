// Memory that processes share, of a size that none of them can change, so that an access never
// faults.
//
// The memory is a memfd. If only its maker is to write, no other process can map it for writing or
// write to it once the maker has mapped it. The seals hold for every descriptor, also for one that
// is opened anew through /proc/self/fd (fcntl(2), F_SEAL_FUTURE_WRITE).
#pragma once

#include <cstdint>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

class SealedMemory {
 public:
  // Says which processes may write. maker: only the process that made the memory. all: every
  // process that maps it.
  enum class Writers : bool { maker, all };

  // Makes memory that is zeroed. Its pages cost memory once they are touched.
  static Result<SealedMemory> make(const char* name, std::uint64_t bytes,
                                   Writers writers = Writers::maker);
  // Maps memory that another process made. Error: it is not sealed, so that others could make this
  // process fault.
  static Result<SealedMemory> attach(Fd fd, Writers writers = Writers::maker);

  SealedMemory(SealedMemory&& other) noexcept;
  SealedMemory& operator=(SealedMemory&& other) noexcept;
  SealedMemory(const SealedMemory&) = delete;
  SealedMemory& operator=(const SealedMemory&) = delete;
  ~SealedMemory();

  // After attach() the memory is for reading only, unless all processes write.
  void* base() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }
  // The descriptor to hand on. It is for reading only, unless all processes write.
  const Fd& fd() const { return fd_; }
  // Closes the descriptor; the memory stays mapped.
  void close_fd() { fd_.reset(); }

 private:
  SealedMemory(Fd fd, void* base, std::uint64_t bytes);

  Fd fd_;
  void* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace scela
