// System calls as values: what they make is owned by a handle, what fails becomes an Error.
//
// Every descriptor made here is close-on-exec. Nothing here is retried but EINTR.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

// The Error of a system call that left `number` in errno.
Error os_error(ErrorKind kind, std::string what, int number, std::string hint = {});

// What to do about a call that makes a process or a descriptor and ran into a limit ("raise the
// limit of open files (ulimit -n)"); empty if `number` (errno) speaks of no limit.
std::string_view limit_advice(int number);

// Repeats a call that a signal interrupted.
template <class Call>
auto retry(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

struct Pipe {
  Fd read;
  Fd write;
};
Result<Pipe> make_pipe();

struct SocketPair {
  Fd ours;
  Fd theirs;
};
// AF_UNIX; `type` is SOCK_STREAM or SOCK_SEQPACKET. Blocking; use MSG_DONTWAIT or set_nonblocking.
Result<SocketPair> make_socket_pair(int type);

Result<Fd> open_file(const std::string& path, int flags);
bool set_nonblocking(int fd);

// Lets this process, and what it starts, open as many descriptors as the system allows it to.
void raise_descriptor_limit();

// The whole of a small file (of /proc), empty if it cannot be read.
std::string read_small_file(const char* path);

// Path of the program that runs here; /proc/self/exe where that has no name any more.
std::string own_executable();

}  // namespace scela
