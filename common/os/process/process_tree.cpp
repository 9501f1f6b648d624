#include "common/os/process/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"

namespace scela {

namespace {

constexpr int kMaxAncestors = 1000;

pid_t parse_pid(std::string_view text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  return error == std::errc() && end == text.data() + text.size() ? pid : 0;
}

template <class F>
void for_each_number_in(const char* directory, F&& f) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory), ::closedir);
  if (!listing) return;
  while (const dirent* entry = ::readdir(listing.get())) {
    const pid_t number = parse_pid(entry->d_name);
    if (number > 0) f(number);
  }
}

// Asks every process for its parent, on kernels without CONFIG_PROC_CHILDREN.
std::vector<pid_t> children_by_search(pid_t parent) {
  std::vector<pid_t> children;
  for_each_number_in("/proc", [&](pid_t pid) {
    ProcessFacts facts;
    if (facts_of(pid, facts) && facts.parent == parent) children.push_back(pid);
  });
  return children;
}

void append_pids(std::string_view text, std::vector<pid_t>& out) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const pid_t pid = parse_pid(text.substr(at, end - at));
    if (pid > 0) out.push_back(pid);
    at = end + 1;
  }
}

bool is_kept(pid_t pid, const std::vector<pid_t>& kept) {
  if (kept.empty()) return false;
  if (std::ranges::binary_search(kept, pid)) return true;
  ProcessFacts facts;
  return facts_of(pid, facts) && std::ranges::binary_search(kept, facts.session);
}

// Returns true for a line of /proc/PID/mountinfo that mounts /proc so that the processes of others
// are hidden, as "... / /proc rw,relatime - proc proc rw,hidepid=invisible".
bool hides_processes(std::string_view line) {
  constexpr std::string_view kOption = "hidepid=";
  const std::size_t at = line.find(kOption);
  if (at == line.npos || line.find(" /proc ") == line.npos || line.find(" - proc ") == line.npos)
    return false;
  const std::string_view value = line.substr(at + kOption.size());
  return !value.starts_with('0') && !value.starts_with("off");
}

bool has_children_files() {
  static const bool has = ::access("/proc/thread-self/children", R_OK) == 0;
  return has;
}

}  // namespace

bool become_subreaper() {
  return ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

bool proc_hides_processes() {
  // The system writes the list of mounts anew for each reader, which takes an agent 0.08 ms. So no
  // more is read than the mount at /proc needs, which is one of the first.
  struct statx seen {};
  const bool known = ::statx(AT_FDCWD, "/proc", 0, STATX_MNT_ID, &seen) == 0 &&
                     (seen.stx_mask & STATX_MNT_ID) != 0;
  // Not by the classes of <fstream>: they bring the locales of C++, a fifth of the small agent
  // (nla/leaf.cpp).
  const Fd file(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[256];
  for (;;) {
    const ssize_t got = retry([&] { return ::read(file.get(), buffer, sizeof buffer); });
    if (got <= 0) return false;
    text.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end; (end = text.find('\n')) != text.npos; text.erase(0, end + 1)) {
      const std::string_view line = std::string_view(text).substr(0, end);
      if (hides_processes(line)) return true;
      if (known && line.starts_with(cat(seen.stx_mnt_id, " "))) return false;
    }
  }
}

void keep_secrets() {
  if (!proc_hides_processes()) ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void leave_memory_out_of_core_files() {
  const Fd filter(::open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC));
  if (filter) static_cast<void>(retry([&] { return ::write(filter.get(), "0", 1); }));
}

bool facts_of(pid_t pid, ProcessFacts& facts) {
  const std::string text = read_small_file(cat("/proc/", pid, "/stat").c_str());
  // The name in parentheses may hold anything; the fields follow its last ')'.
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return false;
  std::string_view rest = std::string_view(text).substr(name_end + 2);
  facts.state = rest.empty() ? '?' : rest.front();
  // After the state come, as proc(5) counts: parent (4), group (5), session (6) ... start (22).
  for (int field = 4; field <= 22; ++field) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return false;
    rest.remove_prefix(space + 1);
    const std::string_view value = rest.substr(0, rest.find(' '));
    if (field == 4) facts.parent = parse_pid(value);
    if (field == 5) facts.group = parse_pid(value);
    if (field == 6) facts.session = parse_pid(value);
    if (field == 22) {
      std::from_chars(value.data(), value.data() + value.size(), facts.started);
    }
  }
  return true;
}

bool is_exiting(pid_t pid) {
  const std::string text = read_small_file(cat("/proc/", pid, "/stat").c_str());
  std::size_t at = text.rfind(") ");
  // The fields are state, parent, group, session, terminal, its group, then the kernel's flags.
  for (int fields = 0; fields < 7 && at != std::string::npos; ++fields)
    at = text.find(' ', at + 1);
  if (at == std::string::npos) return true;
  constexpr std::uint32_t kExiting = 4;  // PF_EXITING
  std::uint32_t flags = 0;
  std::from_chars(text.data() + at + 1, text.data() + text.size(), flags);
  return (flags & kExiting) != 0;
}

std::vector<pid_t> children_of(pid_t pid) {
  if (!has_children_files()) return children_by_search(pid);
  std::vector<pid_t> children;
  if (pid == ::getpid()) {
    // One thread is enough: ScELA's agents start processes from their only thread.
    append_pids(read_small_file(cat("/proc/self/task/", pid, "/children").c_str()), children);
    return children;
  }
  const std::string tasks = cat("/proc/", pid, "/task");
  for_each_number_in(tasks.c_str(), [&](pid_t thread) {
    append_pids(read_small_file(cat(tasks, "/", thread, "/children").c_str()), children);
  });
  return children;
}

bool Descendants::is_left(pid_t pid, const std::vector<pid_t>& kept) const {
  return !is_kept(pid, kept) && !is_agent(pid);
}

void Descendants::collect(pid_t parent, int depth, const std::vector<pid_t>& kept,
                          std::vector<pid_t>& out) const {
  if (depth > kMaxAncestors) return;
  for (const pid_t pid : children_of(parent)) {
    if (!is_left(pid, kept)) continue;
    out.push_back(pid);
    collect(pid, depth + 1, kept, out);
  }
}

std::size_t Descendants::signal_all(int signo, const std::vector<pid_t>& kept) const {
  std::vector<pid_t> found;
  collect(::getpid(), 0, kept, found);
  std::size_t reached = 0;
  for (const pid_t pid : found) {
    // The descriptor pins the process, so that its number cannot come to mean another process
    // between the check and the signal.
    const Fd pinned(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    ProcessFacts facts;
    if (!facts_of(pid, facts) || facts.state == 'Z' || facts.state == 'X') continue;
    if (facts.parent != ::getpid() &&
        std::find(found.begin(), found.end(), facts.parent) == found.end()) {
      continue;
    }
    const auto send = [&](int number) {
      return pinned ? ::syscall(SYS_pidfd_send_signal, pinned.get(), number, nullptr, 0)
                    : ::kill(pid, number);
    };
    if (send(signo) != 0) continue;
    if (signo != SIGKILL && signo != SIGCONT) send(SIGCONT);
    ++reached;
  }
  return reached;
}

bool Descendants::any(const std::vector<pid_t>& kept) const {
  siginfo_t ended{};
  if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) return false;
  for (const pid_t pid : children_of(::getpid())) {
    if (!is_left(pid, kept)) continue;
    if (::kill(pid, 0) != 0 && errno == EPERM) continue;
    return true;
  }
  return false;
}

std::vector<std::string> Descendants::names(const std::vector<pid_t>& kept) const {
  std::vector<pid_t> found;
  collect(::getpid(), 0, kept, found);
  std::vector<std::string> out;
  for (const pid_t pid : found) {
    std::string name = read_small_file(cat("/proc/", pid, "/comm").c_str());
    if (name.empty() || is_exiting(pid)) continue;
    if (name.back() == '\n') name.pop_back();
    out.push_back(std::move(name));
  }
  return out;
}

std::vector<pid_t> Descendants::orphaned_agents(const std::vector<pid_t>& kept) const {
  std::vector<pid_t> found;
  for (const pid_t pid : children_of(::getpid())) {
    if (!is_kept(pid, kept) && is_agent(pid)) found.push_back(pid);
  }
  return found;
}

}  // namespace scela
