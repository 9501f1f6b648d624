// For a process that no launcher has started but that needs one after all: the process starts
// scela-run, which connects back to it (pmi/protocol/singinit.h).
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "common/core/text.h"
#include "common/os/process/socket_owner.h"
#include "common/os/syscall.h"
#include "pmi/client/connection.h"
#include "pmi/protocol/singinit.h"

extern char** environ;

namespace scela::pmi::client {

namespace {

constexpr char kLauncher[] = "scela-run";
// The process checks at this interval, in milliseconds, if the launcher has ended.
constexpr int kMomentMs = 100;

tl::unexpected<Error> failed(std::string what, int number) {
  return fail(os_error(ErrorKind::launch, std::move(what), number));
}

// Listens on a port of 127.0.0.1 that the kernel chooses, and stores it in `port`.
Result<Fd> listen_here(std::uint16_t& port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), any, size) != 0 || ::listen(socket.get(), 8) != 0 ||
      ::getsockname(socket.get(), any, &size) != 0) {
    return failed("listen for the launcher", errno);
  }
  port = ntohs(address.sin_port);
  return socket;
}

// Starts scela-run as a normal child process. The child has the program's directory, environment,
// output and terminal, but not its input.
Result<pid_t> start_launcher(std::uint16_t port) {
  std::string words[] = {kLauncher,
                         std::string(singinit::kOption),
                         cat(port),
                         std::string(singinit::kInterface),
                         std::string(singinit::kKey),
                         cat(::getpid())};
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  // The launcher does not inherit the signal mask, nor how the program handles these two signals.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, kLauncher, &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed(cat("find and execute ", kLauncher, " by PATH"), error);
  return pid;
}

// Accepts a connection of any process of this user. Connections of other users are closed, because
// they could only deceive this process.
Result<Fd> accept_from_launcher(const Fd& listener, pid_t launcher) {
  for (;;) {
    pollfd ready{listener.get(), POLLIN, 0};
    const int got = retry([&] { return ::poll(&ready, 1, kMomentMs); });
    if (got < 0) return failed("wait for the launcher", errno);
    if (got == 0) {
      if (retry([&] { return ::waitpid(launcher, nullptr, WNOHANG); }) != 0) {
        return fail(Error{ErrorKind::launch, "wait for the launcher", "", "it has ended", ""});
      }
      continue;
    }
    Fd socket(retry([&] { return ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC); }));
    if (!socket) continue;
    if (!peer_is_this_user(socket.get())) continue;
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
  }
}

}  // namespace

Result<Connection> Connection::call_launcher() {
  std::uint16_t port = 0;
  auto listener = listen_here(port);
  if (!listener) return fail(std::move(listener.error()));
  const auto launcher = start_launcher(port);
  if (!launcher) return fail(launcher.error());
  auto socket = accept_from_launcher(*listener, *launcher);
  if (!socket) return fail(std::move(socket.error()));
  Connection made;
  made.socket_ = std::move(*socket);
  const auto hello = made.read_line(nullptr);
  if (!hello) return fail(hello.error());
  if (const auto known = singinit::read_hello(*hello); !known) return fail(known.error());
  made.send(singinit::hello_back());
  const auto info = made.read_line(nullptr);
  if (!info) return fail(info.error());
  if (const auto space = singinit::read_info(*info); !space) return fail(space.error());
  return made;
}

}  // namespace scela::pmi::client
