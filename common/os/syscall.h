// System calls as values: a handle owns what they make, and a failure becomes an Error. All rooms
// that make system calls use it. Any thread may call the functions. The only state is the limit of
// descriptors, which a program raises before it has threads.
//
// Every descriptor made here is close-on-exec. No call is retried except after EINTR.
#pragma once

#include <sys/resource.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

// Returns the Error of a system call that left `number` in errno. `what` is the thing that was
// tried ("open 'x'"), and `hint` says what to do.
Error os_error(ErrorKind kind, std::string what, int number, std::string hint = {});

// Returns advice if a call that makes a process or a descriptor reached a limit: "raise the limit
// of open files (ulimit -n)". It is empty if `number` (errno) does not mean a limit.
std::string_view limit_advice(int number);

// Calls `call`, which returns -1 and sets errno if it fails, and repeats it while a signal
// interrupts it. Returns the last result.
template <class Call>
auto retry(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

// The two ends of a pipe.
struct Pipe {
  Fd read;
  Fd write;
};
// Makes a pipe. Error (launch): a limit of descriptors is reached; the hint says which.
Result<Pipe> make_pipe();

// Two connected sockets: one for this process, and one for a child.
struct SocketPair {
  Fd ours;
  Fd theirs;
};
// Makes an AF_UNIX pair; `type` is SOCK_STREAM or SOCK_SEQPACKET. The sockets block, unless the
// caller uses MSG_DONTWAIT or set_nonblocking. Error (launch): a limit of descriptors is reached.
Result<SocketPair> make_socket_pair(int type);

// Opens a file with the flags of open(2); a new file gets the mode 0600. Error: kind io.
Result<Fd> open_file(const std::string& path, int flags);
// Sets O_NONBLOCK. Returns false if the descriptor is not open.
bool set_nonblocking(int fd);

// Lets this process open as many descriptors as the system allows. Children that start_child()
// (common/os/process/child.h) starts have the limit from before.
void raise_descriptor_limit();
// Returns the limit from before raise_descriptor_limit(), or a nullptr if it was not raised.
const rlimit* descriptor_limit_before();

// Returns the whole text of a small file (such as one of /proc), or an empty text if it cannot be
// read.
std::string read_small_file(const char* path);

// Returns the path of the program that runs here, or /proc/self/exe if the program has no name any
// more.
std::string own_executable();
// Returns the directory of own_executable(), in which the programs that belong to it are installed.
std::string own_directory();

}  // namespace scela
