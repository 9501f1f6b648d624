// Copies within this process, to or from a program's buffer that may be no memory any more: the
// program gets an error then, and no signal.
//
// By the kernel, which looks at each page as it copies. A handler for SIGSEGV would cost less, and
// is the program's to have.
#pragma once

#include <cstddef>

#include "common/os/syscall.h"

namespace scela::channel {

class GuardedCopy {
 public:
  // False: not all of it is memory, or it may not be written. Some may have been copied.
  bool operator()(std::byte* to, const std::byte* from, std::size_t bytes);

 private:
  bool by_pipe(std::byte* to, const std::byte* from, std::size_t bytes);

  bool refused_ = false;  // process_vm_readv, also of this process itself
  Pipe pipe_;
};

}  // namespace scela::channel
