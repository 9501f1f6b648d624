// Memory that processes share, of a size that none of them can change: an access never faults.
//
// A memfd. Where only its maker is to write, nobody can map it for writing or write to it any more
// once the maker has mapped it: the seals hold for every descriptor, also one that is opened anew
// through /proc/self/fd (fcntl(2), F_SEAL_FUTURE_WRITE).
#pragma once

#include <cstdint>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

class SealedMemory {
 public:
  enum class Writers : bool { maker, all };

  // Zeroed; pages cost memory once they are touched.
  static Result<SealedMemory> make(const char* name, std::uint64_t bytes,
                                   Writers writers = Writers::maker);
  // Maps somebody's. Error: it is not sealed, so that others could make this process fault.
  static Result<SealedMemory> attach(Fd fd, Writers writers = Writers::maker);

  SealedMemory(SealedMemory&& other) noexcept;
  SealedMemory& operator=(SealedMemory&& other) noexcept;
  SealedMemory(const SealedMemory&) = delete;
  SealedMemory& operator=(const SealedMemory&) = delete;
  ~SealedMemory();

  void* base() const { return base_; }  // attach: for reading only, unless all write
  std::uint64_t bytes() const { return bytes_; }
  const Fd& fd() const { return fd_; }  // to be handed on; for reading only, unless all write
  // The memory stays mapped.
  void close_fd() { fd_.reset(); }

 private:
  SealedMemory(Fd fd, void* base, std::uint64_t bytes);

  Fd fd_;
  void* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace scela
