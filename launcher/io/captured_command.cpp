#include "launcher/io/captured_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include "common/core/text.h"
#include "common/os/process/child.h"
#include "common/os/process/process_tree.h"
#include "common/os/syscall.h"
#include "launcher/core/detect/bulk_output.h"
#include "launcher/core/report/report_text.h"

namespace scela {

namespace {

Error failure(std::string why) {
  return Error{ErrorKind::launch, "run a command", "", std::move(why), ""};
}

Fd output_memory() {
  return Fd(::memfd_create("scela-output", MFD_CLOEXEC));
}

// Returns the end of the text in memory.
std::string text_in(const Fd& memory) {
  const off_t size = ::lseek(memory.get(), 0, SEEK_END);
  const auto begin = std::max<off_t>(0, size - static_cast<off_t>(CapturedCommand::kMaxOutput));
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, size - begin)), '\0');
  const ssize_t got = ::pread(memory.get(), text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return text;
}

// The keeper.

constexpr int kKeeperConnection = 3;
// As a shell says that it cannot run a program, or does not find it.
constexpr int kKeeperCannotRun = 126, kKeeperNotFound = 127;
// The interval at which SIGKILL is repeated.
constexpr int kKeeperAgainMs = 20;

// Reaps all children that have ended. Returns the status of this one if it is among them.
std::optional<int> reap_kept(pid_t pid) {
  std::optional<int> out;
  int status = 0;
  for (pid_t one; (one = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (one == pid) out = status;
  return out;
}

// Ends this process as its command has ended.
int end_as(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const int signo = WTERMSIG(status);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // the command has left its own
  ::signal(signo, SIG_DFL);
  ::raise(signo);
  sigset_t own;
  ::sigemptyset(&own);
  ::sigaddset(&own, signo);
  ::sigprocmask(SIG_UNBLOCK, &own, nullptr);
  return 1;
}

// Ends all processes below this one, and waits for them.
int end_kept(const Fd& signals) {
  const Descendants below;
  below.signal_all(SIGTERM);
  const auto kill_at = std::chrono::steady_clock::now() + kKeeperGrace;
  pollfd ended{signals.get(), POLLIN, 0};
  while (static_cast<void>(reap_kept(0)), below.any()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(kill_at - std::chrono::steady_clock::now())
            .count();
    if (left <= 0) below.signal_all(SIGKILL);
    // One that has forked meanwhile is killed in the next turn.
    retry([&] { return ::poll(&ended, 1, left > 0 ? static_cast<int>(left) : kKeeperAgainMs); });
    signalfd_siginfo info{};
    while (::read(signals.get(), &info, sizeof info) == sizeof info) {
    }
  }
  return 1;
}

}  // namespace

Result<CapturedCommand> CapturedCommand::start(CommandSpec spec) {
  CapturedCommand out;
  const std::string& name = spec.words.front();
  const char* path = std::getenv("PATH");
  const auto program = find_program(name, path == nullptr ? kUsualPath : path, ".");
  if (!program) return fail(failure(cat("find '", name, "': ", errno_text(program.error()))));
  out.output_ = output_memory();
  out.errors_ = output_memory();
  std::vector<int> descriptors = {spec.input, spec.output < 0 ? out.output_.get() : spec.output,
                                  out.errors_.get()};
  std::string started = *program;
  Fd theirs;
  if (spec.is_kept) {
    auto sockets = make_socket_pair(SOCK_STREAM);
    if (!sockets) return fail(failure(sockets.error().text()));
    out.keeper_ = std::move(sockets->ours);
    theirs = std::move(sockets->theirs);
    descriptors.push_back(theirs.get());
    started = own_executable();
    spec.words.insert(spec.words.begin(), {started, std::string(kCommandKeeper), *program});
    spec.dies_with_parent = false;
  }
  const std::vector<char*> argv = argv_of(spec.words), envp = argv_of(spec.environment);
  ChildSpec child;
  child.program = started.c_str();
  child.argv = argv.data();
  child.envp = envp.data();
  child.descriptors = descriptors;
  child.group = ChildGroup::own_session;  // ^C is not for it
  child.dies_with_parent = spec.dies_with_parent;
  const auto pid = start_child(child);
  if (!pid) return fail(failure(text_of(pid.error(), started)));
  out.pid_ = *pid;
  out.process_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  if (out.process_) return out;
  // Its end could not be seen.
  const int error = errno;
  ::kill(*pid, SIGKILL);
  ::waitpid(*pid, nullptr, 0);
  return fail(failure(cat("open a descriptor of its process: ", errno_text(error))));
}

std::optional<int> CapturedCommand::wait(std::chrono::milliseconds limit, int end) {
  if (ended_) return ended_;
  pollfd ready[] = {{process_.get(), POLLIN, 0}, {end, POLLIN, 0}};
  retry([&] { return ::poll(ready, std::size(ready), static_cast<int>(limit.count())); });
  if (ready[0].revents == 0) return std::nullopt;
  int status = 0;
  ::waitpid(pid_, &status, WNOHANG);
  ended_ = status;
  return ended_;
}

void CapturedCommand::send(int signal) {
  if (!ended_) ::syscall(SYS_pidfd_send_signal, process_.get(), signal, nullptr, 0);
}

void CapturedCommand::kill() {
  // If the process was reaped, here or by another part, its number may be that of another group.
  const bool has_number = ::syscall(SYS_pidfd_send_signal, process_.get(), 0, nullptr, 0) == 0;
  if (keeper_)
    keeper_.reset();
  else if (has_number)
    ::kill(-pid_, SIGKILL);
  static_cast<void>(wait(std::chrono::milliseconds(-1)));
}

std::string CapturedCommand::output() const {
  return text_in(output_);
}
std::string CapturedCommand::errors() const {
  return text_in(errors_);
}

std::vector<std::string> process_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry)
    out.emplace_back(*entry);
  return out;
}

int run_command_keeper(const std::vector<std::string>& words) {
  become_subreaper();
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int signo : {SIGCHLD, SIGTERM, SIGINT, SIGHUP})
    ::sigaddset(&watched, signo);
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  const Fd signals(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  ::fcntl(kKeeperConnection, F_SETFD, FD_CLOEXEC);
  std::vector<std::string> command(words.begin() + 1, words.end());
  const std::vector<char*> argv = argv_of(command);
  const int descriptors[] = {0, 1, 2};
  ChildSpec child;
  child.program = words.front().c_str();
  child.argv = argv.data();
  child.envp = environ;
  child.descriptors = descriptors;
  child.dies_with_parent = true;
  const auto pid = start_child(child);
  if (!pid) {
    const std::string why = cat(text_of(pid.error(), words.front()), "\n");
    static_cast<void>(!::write(2, why.data(), why.size()));
    return pid.error().error == ENOENT ? kKeeperNotFound : kKeeperCannotRun;
  }
  pollfd asked[] = {{signals.get(), POLLIN, 0}, {kKeeperConnection, POLLIN, 0}};
  for (;;) {
    retry([&] { return ::poll(asked, std::size(asked), -1); });
    bool ends = asked[1].revents != 0;
    signalfd_siginfo info{};
    while (::read(signals.get(), &info, sizeof info) == sizeof info)
      ends = ends || info.ssi_signo != SIGCHLD;
    if (ends) return end_kept(signals);
    if (const auto status = reap_kept(*pid)) return end_as(*status);
  }
}

Error command_error(const std::vector<std::string>& words, std::string_view why) {
  std::string line;
  for (const std::string& word : words)
    line += cat(line.empty() ? "" : " ", word);
  return Error{ErrorKind::usage, cat("run '", line, "'"), "", cat("'", line, "' ", why), ""};
}

std::string failure_text(const CapturedCommand& command, int status) {
  const std::string said = telling_line(bulk_lines(command.errors()));
  return cat(end_of(status), said.empty() ? "" : "; it said: ", printable(said));
}

std::string late_text(std::chrono::milliseconds limit) {
  return cat("has not ended within ", limit.count(), " ms (--connect-timeout)");
}

Result<std::string> output_of(const std::vector<std::string>& words,
                              const std::vector<std::string>& environment,
                              std::chrono::milliseconds limit) {
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto command = CapturedCommand::start({words, environment, nothing.get(), true});
  if (!command) return fail(command_error(words, cat("cannot be run: ", command.error().why)));
  const auto status = command->wait(limit);
  if (!status) {
    command->kill();
    return fail(command_error(words, late_text(limit)));
  }
  if (*status == 0) return command->output();
  return fail(command_error(words, failure_text(*command, *status)));
}

}  // namespace scela
