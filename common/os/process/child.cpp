#include "common/os/process/child.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela {

namespace {

constexpr std::size_t kMaxDescriptors = 16;
// Bytes. The child runs a handful of system calls on this stack before execve.
constexpr std::size_t kChildStack = 16 * 1024;

struct Handover {
  const ChildSpec* spec;
  pid_t parent;
  ChildError failure;   // the child writes, then the parent reads
  const rlimit* limit;  // of descriptors; nullptr: as the parent's
};

// Sanitizers keep notes about frames. A frame that ends in execve never tells them that it is gone.
#define SCELA_IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined"), noinline))

#ifdef __SANITIZE_THREAD__
// The sanitizer's clone() takes each child for a copy of the parent. Here both have one memory, in
// which it would note for the parent that locks have no effect. This is libc's own function.
extern "C" int libc_clone(int (*child)(void*), void* stack, int flags, void* argument,
                          ...) __asm__("__clone");
#else
int libc_clone(int (*child)(void*), void* stack, int flags, void* argument) {
  return ::clone(child, stack, flags, argument);
}
#endif

SCELA_IN_CHILD bool place_descriptors(std::span<const int> wanted) {
  int sources[kMaxDescriptors];
  const int count = static_cast<int>(wanted.size());
  for (int i = 0; i < count; ++i) {
    int source = wanted.data()[i];
    // The sources first move out of the way of the targets.
    if (source < count && (source = ::fcntl(source, F_DUPFD_CLOEXEC, count)) < 0) return false;
    sources[i] = source;
  }
  for (int i = 0; i < count; ++i) {
    if (::dup2(sources[i], i) < 0) return false;
  }
  if (::syscall(SYS_close_range, static_cast<unsigned>(count), ~0U, 0U) == 0) return true;
  // Linux before 5.9 has no close_range.
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  for (rlim_t number = static_cast<rlim_t>(count); number < limit.rlim_cur; ++number) {
    ::close(static_cast<int>(number));
  }
  return true;
}

SCELA_IN_CHILD void default_signals() {
  // execve ends handlers by itself. A signal that an ancestor ignores would stay ignored. The
  // signals that a launcher, a shell's "&" or nohup ignore must reach the program all the same.
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  const int usual[] = {SIGPIPE, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGCHLD};
  for (const int signo : usual)
    ::sigaction(signo, &action, nullptr);
}

// A shell here, and all that it runs, would ignore the terminal signals that an ancestor ignores.
SCELA_IN_CHILD bool take_terminal() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  const int of_terminals[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH};
  for (const int signo : of_terminals)
    ::sigaction(signo, &action, nullptr);
  return ::ioctl(0, TIOCSCTTY, 0) == 0;
}

SCELA_IN_CHILD int child_main(void* argument) {
  Handover& handover = *static_cast<Handover*>(argument);
  const ChildSpec& spec = *handover.spec;
  const auto give_up = [&](ChildStep step) __attribute__((no_sanitize("address", "thread"))) {
    handover.failure = {step, errno};
    return 127;
  };
  const bool grouped = spec.group == ChildGroup::own_group ? ::setpgid(0, 0) == 0 : ::setsid() >= 0;
  if (!grouped) return give_up(ChildStep::group);
  if (spec.dies_with_parent || spec.ends_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, spec.dies_with_parent ? SIGKILL : SIGTERM);
    if (::getppid() != handover.parent) return 127;  // the parent died before that
  }
  // The setting survives execve. If the system has no such setting, daemons fall
  // to the parent as before.
  if (spec.keeps_orphans) ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  default_signals();
  if (!place_descriptors(spec.descriptors)) return give_up(ChildStep::descriptors);
  if (spec.group == ChildGroup::own_terminal && !take_terminal()) {
    return give_up(ChildStep::terminal);
  }
  if (spec.directory != nullptr && ::chdir(spec.directory) != 0) {
    return give_up(ChildStep::directory);
  }
  if (spec.cpus != nullptr && ::sched_setaffinity(0, spec.cpus->bytes(), spec.cpus->data()) != 0) {
    return give_up(ChildStep::affinity);
  }
  if (spec.memory != nullptr && !spec.memory->set()) return give_up(ChildStep::memory);
  if (spec.stops_at_start && ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
    return give_up(ChildStep::trace);
  }
  // The parent has raised its own. Programs may be slow, or fail, with very many descriptors.
  if (handover.limit != nullptr) ::setrlimit(RLIMIT_NOFILE, handover.limit);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(spec.program, spec.argv, spec.envp);
  return give_up(ChildStep::execute);
}

// A traced child stops once it has executed the program. This gives the tracing up, so that a
// debugger can trace the child, and leaves SIGSTOP, which acts before the program does. A child
// that was killed meanwhile is reaped by the caller.
void stop_untraced(pid_t pid) {
  siginfo_t facts{};
  retry([&] {
    return ::waitid(P_PID, static_cast<id_t>(pid), &facts, WSTOPPED | WEXITED | WNOWAIT);
  });
  ::ptrace(PTRACE_DETACH, pid, nullptr, SIGSTOP);
}

}  // namespace

std::vector<char*> argv_of(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::string end_of(int status) {
  if (!WIFSIGNALED(status)) return cat("ended with code ", WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  const char* const name = ::sigabbrev_np(number);
  return cat("was killed by signal ", number, " (SIG", name == nullptr ? "?" : name, ")");
}

std::string_view name_of(ChildStep step) {
  switch (step) {
    case ChildStep::clone:
      return "create a process";
    case ChildStep::group:
      return "make a process group";
    case ChildStep::descriptors:
      return "pass descriptors on";
    case ChildStep::terminal:
      return "take its terminal";
    case ChildStep::directory:
      return "enter the working directory";
    case ChildStep::affinity:
      return "bind to a core";
    case ChildStep::memory:
      return "bind the memory of";
    case ChildStep::trace:
      return "stop before the start of (ptrace)";
    case ChildStep::execute:
      return "execute";
  }
  return "start";
}

std::string text_of(const ChildError& error, std::string_view program) {
  std::string out = cat(name_of(error.step), " '", program, "': ", errno_text(error.error));
  const std::string_view advice = limit_advice(error.error);
  if (!advice.empty()) out += cat(" (", advice, ")");
  return out;
}

tl::expected<pid_t, ChildError> start_child(const ChildSpec& spec) {
  if (spec.descriptors.size() > kMaxDescriptors) {
    return tl::unexpected(ChildError{ChildStep::descriptors, EINVAL});
  }
  Handover handover{&spec, ::getpid(), {ChildStep::clone, 0}, descriptor_limit_before()};
  alignas(16) char stack[kChildStack];
  // A signal handler must not run in the child, because it would change the memory of both.
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid =
      libc_clone(child_main, stack + kChildStack, CLONE_VM | CLONE_VFORK | SIGCHLD, &handover);
  const int clone_error = errno;
  if (pid > 0 && handover.failure.error != 0) {
    retry([&] { return ::waitpid(pid, nullptr, 0); });
  }
  if (pid > 0 && handover.failure.error == 0 && spec.stops_at_start) stop_untraced(pid);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return tl::unexpected(ChildError{ChildStep::clone, clone_error});
  if (handover.failure.error != 0) return tl::unexpected(handover.failure);
  return pid;
}

namespace {

// Returns 0, or the errno with which execve would refuse the file.
int executable(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return errno;
  if (!S_ISREG(facts.st_mode)) return EACCES;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

std::string below(std::string_view directory, std::string_view path) {
  if (directory.empty() || path.starts_with('/')) return std::string(path);
  return cat(directory, directory.ends_with('/') ? "" : "/", path);
}

}  // namespace

tl::expected<std::string, int> find_program(std::string_view name, std::string_view search_path,
                                            std::string_view directory) {
  if (name.empty()) return tl::unexpected(ENOENT);
  if (name.find('/') != std::string_view::npos) {
    std::string path = below(directory, name);
    const int error = executable(path);
    if (error != 0) return tl::unexpected(error);
    return path;
  }
  int worst = ENOENT;
  for (std::size_t at = 0; at <= search_path.size();) {
    const std::size_t colon = std::min(search_path.find(':', at), search_path.size());
    std::string_view folder = search_path.substr(at, colon - at);
    at = colon + 1;
    if (folder.empty()) folder = ".";
    std::string path = cat(below(directory, folder), "/", name);
    const int error = executable(path);
    if (error == 0) return path;
    if (error == EACCES) worst = EACCES;
  }
  return tl::unexpected(worst);
}

}  // namespace scela
