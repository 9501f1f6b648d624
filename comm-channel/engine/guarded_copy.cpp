#include "comm-channel/engine/guarded_copy.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace scela::channel {

bool GuardedCopy::operator()(std::byte* to, const std::byte* from, std::size_t bytes) {
  while (!refused_ && bytes != 0) {
    const iovec here{to, bytes};
    const iovec there{const_cast<std::byte*>(from), bytes};
    const ssize_t got = ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0);
    if (got == 0 || (got < 0 && errno == EFAULT)) return false;
    if (got < 0) {
      refused_ = true;
      break;
    }
    to += got;
    from += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return bytes == 0 || by_pipe(to, from, bytes);
}

// Copies the bytes into a pipe and out of it, as far as it takes them. If there is no descriptor
// left for a pipe, it copies without a guard.
bool GuardedCopy::by_pipe(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (!pipe_.write) {
    auto made = make_pipe();
    if (!made || !set_nonblocking(made->write.get())) {
      std::memcpy(to, from, bytes);
      return true;
    }
    pipe_ = std::move(*made);
  }
  while (bytes != 0) {
    const ssize_t put = retry([&] { return ::write(pipe_.write.get(), from, bytes); });
    if (put <= 0) return false;  // nothing is in it
    for (ssize_t left = put; left != 0;) {
      const ssize_t got =
          retry([&] { return ::read(pipe_.read.get(), to, static_cast<std::size_t>(left)); });
      if (got <= 0) {
        pipe_ = {};  // with what is left in it
        return false;
      }
      to += got;
      left -= got;
    }
    from += put;
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

}  // namespace scela::channel
