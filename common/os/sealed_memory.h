// Memory that processes share, of a size that none of them can change, so that an access never
// faults. One process makes it and passes its descriptor on; others map it. Ranks, agents and
// engines share such memory. One thread at a time uses an object; the bytes may be used by any.
//
// The memory is a memfd. If only its maker is to write, no other process can map it for writing or
// write to it once the maker has mapped it. The seals hold for every descriptor, also for one that
// is opened anew through /proc/self/fd (fcntl(2), F_SEAL_FUTURE_WRITE).
#pragma once

#include <cstdint>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

// A mapping of sealed memory, which the destructor unmaps.
class SealedMemory {
 public:
  // Says which processes may write. maker: only the process that made the memory. all: every
  // process that maps it.
  enum class Writers : bool { maker, all };

  // Makes memory that is zeroed, and maps it. `name` is for /proc only. Its pages cost memory once
  // they are touched. Error (io): a system call failed.
  static Result<SealedMemory> make(const char* name, std::uint64_t bytes,
                                   Writers writers = Writers::maker);
  // Maps memory that another process made; `fd` is the descriptor of fd(). Error (protocol): its
  // size is not sealed, so that others could make this process fault. Error (io): it cannot be
  // mapped.
  static Result<SealedMemory> attach(Fd fd, Writers writers = Writers::maker);

  SealedMemory(SealedMemory&& other) noexcept;
  SealedMemory& operator=(SealedMemory&& other) noexcept;
  SealedMemory(const SealedMemory&) = delete;
  SealedMemory& operator=(const SealedMemory&) = delete;
  ~SealedMemory();

  // Returns the address of the memory in this process. After attach() the memory is for reading
  // only, unless all processes write.
  void* base() const { return base_; }
  // Returns the size of the memory.
  std::uint64_t bytes() const { return bytes_; }
  // Returns the descriptor to pass to other processes. It is for reading only, unless all processes
  // write.
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
