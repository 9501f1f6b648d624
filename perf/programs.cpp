#include "perf/programs.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"

namespace scela::perf {

namespace {

struct Running {
  std::mutex mutex;
  pid_t group = 0;  // of the running program; 0: none
  int signal = 0;   // the signal that arrived; 0: none
};

// The object is never destroyed, because the thread that waits for signals uses it until the
// process ends.
Running& running() {
  static Running& one = *new Running;
  return one;
}

Error cannot_run(std::string what, std::string why, std::string hint = "") {
  return {ErrorKind::launch, std::move(what), "", std::move(why), std::move(hint)};
}

sigset_t signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM})
    ::sigaddset(&set, signal);
  return set;
}

void wait_for_signals() {
  const sigset_t set = signals();
  for (;;) {
    int signal = 0;
    if (::sigwait(&set, &signal) != 0) continue;
    const std::lock_guard lock(running().mutex);
    running().signal = signal;
    if (running().group != 0) ::kill(-running().group, signal);
  }
}

// Starts the program unless a signal has arrived: that signal would not end it.
tl::expected<pid_t, ChildError> start(const ChildSpec& spec) {
  const std::lock_guard lock(running().mutex);
  if (running().signal != 0) return tl::unexpected(ChildError{ChildStep::execute, EINTR});
  const auto pid = start_child(spec);
  if (pid) running().group = *pid;
  return pid;
}

// Returns the wait status. It clears the group first: once the process is waited for, its number
// may belong to another group.
int end_of_program(pid_t pid) {
  siginfo_t ended{};
  retry([&] { return ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT); });
  const std::lock_guard lock(running().mutex);
  running().group = 0;
  int status = 0;
  retry([&] { return ::waitpid(pid, &status, 0); });
  return status;
}

}  // namespace

void pass_signals_on() {
  const sigset_t set = signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread(wait_for_signals).detach();
}

int received_signal() {
  const std::lock_guard lock(running().mutex);
  return running().signal;
}

std::string text_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += text.empty() ? word : " " + word;
  return text;
}

Result<std::string> output_of(const std::vector<std::string>& words) {
  const std::string what = cat("run '", text_of(words), "'");
  const char* const search = std::getenv("PATH");
  const auto program =
      find_program(words[0], search != nullptr ? std::string_view(search) : kUsualPath, ".");
  if (!program)
    return fail(cannot_run(what, errno_text(program.error()), cat("install '", words[0], "'")));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(cannot_run(what, errno_text(errno)));
  Fd read_end(ends[0]), write_end(ends[1]);
  std::vector<char*> argv;
  for (const std::string& word : words)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const std::array<int, 3> descriptors{0, write_end.get(), 2};
  ChildSpec spec;
  spec.program = program->c_str();
  spec.argv = argv.data();
  spec.envp = environ;
  spec.descriptors = descriptors;
  spec.dies_with_parent = true;
  const auto pid = start(spec);
  if (!pid) return fail(cannot_run(what, scela::text_of(pid.error(), *program)));
  write_end = Fd();
  std::string output;
  std::array<char, 4096> part{};
  for (ssize_t n = 0;
       (n = retry([&] { return ::read(read_end.get(), part.data(), part.size()); })) > 0;)
    output.append(part.data(), static_cast<std::size_t>(n));
  const int status = end_of_program(*pid);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(cannot_run(what, WIFEXITED(status)
                                     ? cat("it ended with status ", WEXITSTATUS(status))
                                     : cat("signal ", WTERMSIG(status), " ended it")));
  return output;
}

}  // namespace scela::perf
