#include "hca/library/link/engine_start.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/error.h"
#include "common/os/syscall.h"
#include "hca/core/wire/job_socket.h"

namespace scela::hca::library {

namespace {

constexpr int kStartMs = 20'000;  // until an engine must say that it listens

std::string environment(const char* name) {
  const char* const value = ::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Checks that only this user can create a socket in the directory. Returns 0 or an errno.
int check_directory(const std::string& directory, std::string& why) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0) {
    why = directory + ": " + errno_text(errno);
    return errno;
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    why = directory + " is not a directory that is this user's alone (mode 0700)";
    return EPERM;
  }
  return 0;
}

// Connects to the socket at `path` and checks that this user owns it. Returns 0 or an errno.
int try_connect(const std::string& path, Fd& socket, std::string& why) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    why = path + ": longer than the path of a socket may be";
    return ENAMETOOLONG;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!made) {
    why = "make a socket: " + errno_text(errno);
    return errno;
  }
  if (retry([&] {
        return ::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
      }) != 0) {
    const int number = errno;
    why = path + ": " + errno_text(number);
    return number;
  }
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (::getsockopt(made.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
      peer.uid != ::geteuid()) {
    why = path + " belongs to another user";
    return EPERM;
  }
  socket = std::move(made);
  return 0;
}

bool nobody_listens(int error) {
  return error == ENOENT || error == ECONNREFUSED;
}

bool executable(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0;
}

// The engine starts in another directory, so its path must be absolute.
std::string absolute(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> whole(::realpath(path.c_str(), nullptr), ::free);
  return whole ? std::string(whole.get()) : path;
}

// Returns the path of scela-hca, or an empty string if there is none.
std::string find_engine() {
  std::string named = environment("SCELA_HCA");
  if (!named.empty()) return absolute(named);
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&connect_engine), &here) != 0 &&
      here.dli_fname != nullptr) {
    const std::string beside = directory_of(here.dli_fname);
    for (const char* step : {"/", "/../bin/", "/../../bin/"}) {
      std::string path = beside + step + "scela-hca";
      if (executable(path)) return absolute(path);
    }
  }
  const std::string folders = environment("PATH");
  for (std::string_view rest = folders; !rest.empty();) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    std::string path = std::string(rest.substr(0, colon)) + "/scela-hca";
    if (colon > 0 && executable(path)) return absolute(path);
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

// The arguments of the engine's execve. They are made before the fork, because afterwards only
// system calls are allowed.
struct Start {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  int log = -1;
  int ready = -1;  // becomes descriptor 3
};

// Writes the errno that stopped the engine to the process that waits for its byte.
[[noreturn]] void end_child(int ready, int number) {
  static_cast<void>(!::write(ready, &number, sizeof number));
  ::_exit(127);
}

// A launcher may have bound the program to one processor or a few; the engine is for all programs
// of the node. The kernel removes the processors that the machine lacks or the control group
// forbids.
void unbind() {
  alignas(cpu_set_t) unsigned char all[8192];  // more than any kernel has
  std::memset(all, 0xff, sizeof all);
  ::sched_setaffinity(0, sizeof all, reinterpret_cast<const cpu_set_t*>(all));
}

[[noreturn]] void become_engine(const Start& start) {
  ::setsid();
  const int null = ::open("/dev/null", O_RDWR);
  const int log = ::fcntl(start.log, F_DUPFD, 10);
  const int ready = ::fcntl(start.ready, F_DUPFD, 10);
  if (null < 0 || log < 0 || ready < 0 || ::dup2(null, 0) < 0 || ::dup2(null, 1) < 0 ||
      ::dup2(log, 2) < 0 || ::dup2(ready, 3) < 0) {
    end_child(start.ready, errno);
  }
  // The engine must not keep the program's descriptors open.
  if (::syscall(SYS_close_range, 4U, ~0U, 0U) != 0) {
    for (int fd = 4; fd < 4096; ++fd)
      ::close(fd);
  }
  if (::chdir("/") != 0) end_child(3, errno);
  unbind();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(start.program, start.arguments, start.environment);
  end_child(3, errno);
}

// Like fork(), but the program does not notice this child. There is no SIGCHLD, and no wait of the
// program returns it.
pid_t quiet_fork() {
  return static_cast<pid_t>(::syscall(SYS_clone, 0UL, nullptr, nullptr, nullptr, 0UL));
}

// The parent of the engine ends at once, so the engine is not a child of the program.
bool fork_engine(const Start& start) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all,
                    &before);  // none of the program's handlers runs in the child
  const pid_t child = quiet_fork();
  if (child == 0) {
    const pid_t engine = quiet_fork();
    if (engine == 0) become_engine(start);
    ::_exit(engine < 0 ? 1 : 0);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return false;
  int status = 0;
  return retry([&] { return ::waitpid(child, &status, __WALL); }) == child && status == 0;
}

// Waits until the engine says that it listens. Returns an empty string, or else what happened to
// it.
std::string wait_ready(int fd) {
  pollfd ready{fd, POLLIN, 0};
  int number = 0;
  if (retry([&] { return ::poll(&ready, 1, kStartMs); }) != 1) {
    return "has not said within " + std::to_string(kStartMs / 1000) + " s that it listens";
  }
  const ssize_t got = retry([&] { return ::read(fd, &number, sizeof number); });
  if (got == 1) return {};
  if (got == sizeof number) return "cannot be executed: " + errno_text(number);
  return "ended before programs could connect";
}

// Returns the last line that was written after `from`, without its line end.
std::string last_line(int log, off_t from) {
  constexpr off_t kMax = 1000;
  const off_t end = ::lseek(log, 0, SEEK_END);
  if (end <= from) return {};
  const off_t begin = std::max(from, end - kMax);
  std::string text(static_cast<std::size_t>(end - begin), '\0');
  const ssize_t got = retry([&] { return ::pread(log, text.data(), text.size(), begin); });
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (text.ends_with('\n'))
    text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

int start_engine(const std::string& path, std::string& why) {
  const std::string program = find_engine();
  if (program.empty()) {
    why = "no engine listens at " + path + ", and there is no scela-hca to start (SCELA_HCA, PATH)";
    return ENOENT;
  }
  const std::string log_path = directory_of(path) + "/log";
  Fd log(::open(log_path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) {
    why = log_path + ": " + errno_text(errno);
    return errno;
  }
  const off_t begin = ::lseek(log.get(), 0, SEEK_END);  // earlier engines wrote here, too
  auto pipe = make_pipe();
  if (!pipe) {
    why = pipe.error().text();
    return EMFILE;
  }
  std::vector<std::string> words = {program, "--socket", path, "--until-idle", "--ready-fd", "3"};
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> variables;
  for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable) {
    // This library must not be loaded into the engine.
    if (std::strncmp(*variable, "LD_PRELOAD=", 11) != 0) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  const Start start{program.c_str(), arguments.data(), variables.data(), log.get(),
                    pipe->write.get()};
  if (!fork_engine(start)) {
    why = "start " + program + ": " + errno_text(errno);
    return EAGAIN;
  }
  pipe->write.reset();
  const std::string wrong = wait_ready(pipe->read.get());
  if (wrong.empty()) return 0;
  const std::string said = last_line(log.get(), begin);
  why = program + " " + wrong +
        (said.empty() ? "" : ": " + said + " (all that engines here have said: " + log_path + ")");
  return ENOEXEC;
}

}  // namespace

std::string socket_path(const std::string& job) {
  std::string named = environment("SCELA_HCA_SOCKET");
  if (!named.empty()) return named;
  std::string base = environment("TMPDIR");
  if (base.empty()) base = "/tmp";
  return base + "/scela-hca-" + std::to_string(::geteuid()) + "/" + socket_name(job);
}

std::string socket_path() {
  return socket_path(launchers_job(environment));
}

int connect_engine(const std::string& path, Fd& socket, std::string& why) {
  const std::string directory = directory_of(path);
  // An existing directory is checked below.
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    why = directory + ": " + errno_text(errno);
    return errno;
  }
  int error = check_directory(directory, why);
  if (error != 0) return error;
  error = try_connect(path, socket, why);
  if (!nobody_listens(error)) return error;
  // One process starts the engine, and the others wait. An engine that ends takes the same lock.
  const std::string lock_path = directory + "/lock";
  Fd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock || retry([&] { return ::flock(lock.get(), LOCK_EX); }) != 0) {
    why = lock_path + ": " + errno_text(errno);
    return errno;
  }
  error = try_connect(path, socket, why);
  if (!nobody_listens(error)) return error;
  error = start_engine(path, why);
  if (error != 0) return error;
  return try_connect(path, socket, why);
}

}  // namespace scela::hca::library
