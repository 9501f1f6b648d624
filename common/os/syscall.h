// System calls as values: a handle owns what they make, and a failure becomes an Error.
//
// Every descriptor made here is close-on-exec. No call is retried except after EINTR.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

// Returns the Error of a system call that left `number` in errno.
Error os_error(ErrorKind kind, std::string what, int number, std::string hint = {});

// Returns advice if a call that makes a process or a descriptor reached a limit: "raise the limit
// of open files (ulimit -n)". It is empty if `number` (errno) does not mean a limit.
std::string_view limit_advice(int number);

// Repeats a call while a signal interrupts it.
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
// Makes an AF_UNIX pair; `type` is SOCK_STREAM or SOCK_SEQPACKET. It blocks, unless the caller uses
// MSG_DONTWAIT or set_nonblocking.
Result<SocketPair> make_socket_pair(int type);

// Opens a file with the flags of open(2); a new file gets the mode 0600. Error: kind io.
Result<Fd> open_file(const std::string& path, int flags);
// Returns false if the descriptor is not open.
bool set_nonblocking(int fd);

// Lets this process, and those that it starts, open as many descriptors as the system allows.
void raise_descriptor_limit();

// Returns the whole of a small file (such as one of /proc), or an empty text if it cannot be read.
std::string read_small_file(const char* path);

// Returns the path of the program that runs here, or /proc/self/exe if the program has no name any
// more.
std::string own_executable();

}  // namespace scela
