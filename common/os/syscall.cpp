#include "common/os/syscall.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <climits>
#include <optional>

#include "common/core/text.h"

namespace scela {

Error os_error(ErrorKind kind, std::string what, int number, std::string hint) {
  return Error{kind, std::move(what), {}, errno_text(number), std::move(hint)};
}

std::string_view limit_advice(int number) {
  switch (number) {
    case EAGAIN:
      return "raise the limit of processes (ulimit -u), or run fewer at once";
    case EMFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENFILE:
      return "raise the machine's limit of open files (sysctl fs.file-max), or lower that of its "
             "processes (ulimit -n)";
    default:
      return {};
  }
}

namespace {

// Makes the error of a pipe or a socket pair.
Error out_of_descriptors(std::string what) {
  const int number = errno;
  return os_error(ErrorKind::launch, std::move(what), number, std::string(limit_advice(number)));
}

}  // namespace

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(out_of_descriptors("make a pipe"));
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Result<SocketPair> make_socket_pair(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(out_of_descriptors("make a socket pair"));
  }
  return SocketPair{Fd(ends[0]), Fd(ends[1])};
}

Result<Fd> open_file(const std::string& path, int flags) {
  const int number = retry([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0600); });
  if (number < 0) {
    // Here EAGAIN is about the file (a lease), not about a limit.
    const std::string_view advice = errno == EAGAIN ? std::string_view() : limit_advice(errno);
    return fail(os_error(ErrorKind::io, cat("open '", path, "'"), errno, std::string(advice)));
  }
  return Fd(number);
}

bool set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

namespace {
// The limit of descriptors before it was raised. It has no value if it never was.
std::optional<rlimit> limit_before;
}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit_before = limit;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

const rlimit* descriptor_limit_before() {
  return limit_before ? &*limit_before : nullptr;
}

std::string read_small_file(const char* path) {
  const Fd file(retry([&] { return ::open(path, O_RDONLY | O_CLOEXEC); }));
  std::string text;
  if (!file) return text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = retry([&] { return ::read(file.get(), buffer, sizeof buffer); });
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string own_executable() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || length == static_cast<ssize_t>(sizeof path)) return "/proc/self/exe";
  std::string found(path, static_cast<std::size_t>(length));
  // The program was replaced while it runs (an upgrade). The kernel's link still leads to it.
  if (::access(found.c_str(), X_OK) != 0) return "/proc/self/exe";
  return found;
}

std::string own_directory() {
  const std::string path = own_executable();
  return path.substr(0, path.rfind('/'));
}

}  // namespace scela
