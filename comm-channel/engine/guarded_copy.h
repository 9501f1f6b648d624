// Copies within this process, to or from a buffer of the program that may be unmapped by now. The
// program then gets an error instead of a signal.
//
// The kernel copies, since it checks each page as it copies. A handler for SIGSEGV would cost less,
// but that handler belongs to the program.
#pragma once

#include <cstddef>

#include "common/os/syscall.h"

namespace scela::channel {

class GuardedCopy {
 public:
  // Copies `bytes` bytes. Returns false if some of the memory is unmapped or may not be written.
  // Some bytes may have been copied by then.
  bool operator()(std::byte* to, const std::byte* from, std::size_t bytes);

 private:
  // Copies without process_vm_readv, with the same result.
  bool by_pipe(std::byte* to, const std::byte* from, std::size_t bytes);

  bool refused_ = false;  // the kernel refuses process_vm_readv
  Pipe pipe_;
};

}  // namespace scela::channel
