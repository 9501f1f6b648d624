// Memory that one process writes and others can only read, however they try.
//
// A memfd whose size cannot change (a reader's access never faults) and which, once its maker has
// mapped it, nobody can map for writing or write to any more: the seals hold for every descriptor,
// also one that is opened anew through /proc/self/fd (fcntl(2), F_SEAL_FUTURE_WRITE).
#pragma once

#include <cstdint>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

class SealedMemory {
 public:
  // Zeroed; pages cost memory once they are touched.
  static Result<SealedMemory> make(const char* name, std::uint64_t bytes);
  // Maps somebody's. Error: it is not sealed, so that its maker could make readers fault.
  static Result<SealedMemory> attach(Fd fd);

  SealedMemory(SealedMemory&& other) noexcept;
  SealedMemory& operator=(SealedMemory&& other) noexcept;
  SealedMemory(const SealedMemory&) = delete;
  SealedMemory& operator=(const SealedMemory&) = delete;
  ~SealedMemory();

  void* base() const { return base_; }  // attach: for reading only
  std::uint64_t bytes() const { return bytes_; }
  const Fd& fd() const { return fd_; }  // to be handed on; for reading only

 private:
  SealedMemory(Fd fd, void* base, std::uint64_t bytes);

  Fd fd_;
  void* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace scela
