#include "nla/io/capacity.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"

namespace scela::nla {

namespace {

// Output, error and PMI of a rank stay open at its agent. So does standard input if the rank has
// one.
constexpr std::uint64_t kPerRank = 3;
// For the other ends while a rank is started, the record, and a directory that is read.
constexpr std::uint64_t kSpare = 16;
// Numbers below this are not given again after a wrap-around (RESERVED_PIDS in kernel/pid.c).
constexpr std::uint64_t kReservedPids = 300;
constexpr int kCapSysAdmin = 21;
constexpr int kCapSysResource = 24;

// Returns the number that `text` begins with, or kNoLimit if it begins with none ("max").
std::uint64_t number_in(std::string_view text, int base = 10) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() ? number : kNoLimit;
}

std::uint64_t number_of(const std::string& path) {
  return number_in(read_small_file(path.c_str()));
}

std::uint64_t soft(decltype(RLIMIT_NPROC) which) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  return limit.rlim_cur;
}

// RLIMIT_NPROC binds neither root nor processes that may exceed limits (copy_process() in
// kernel/fork.c).
bool may_exceed_processes(const std::string& root) {
  if (::getuid() == 0) return true;
  constexpr std::string_view kLabel = "CapEff:\t";
  const std::string status = read_small_file(cat(root, "/proc/self/status").c_str());
  const std::size_t at = status.find(kLabel);
  if (at == std::string::npos) return false;
  const std::uint64_t able = number_in(std::string_view(status).substr(at + kLabel.size()), 16);
  return able != kNoLimit && (able & (1ULL << kCapSysAdmin | 1ULL << kCapSysResource)) != 0;
}

// Returns the free places in the control group of this process and in its ancestors, whichever is
// least.
std::uint64_t free_in_groups(const std::string& base, std::string path) {
  std::uint64_t least = kNoLimit;
  for (;;) {
    const std::uint64_t most = number_of(cat(base, path, "/pids.max"));
    if (most != kNoLimit) {
      const std::uint64_t used = number_of(cat(base, path, "/pids.current"));
      least = std::min(least, used == kNoLimit ? most : most - std::min(most, used));
    }
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

// Reads lines "0::/path" (version 2) and "8:pids:/path" (version 1).
std::uint64_t free_in_cgroup(const std::string& root) {
  std::uint64_t least = kNoLimit;
  const std::string groups = read_small_file(cat(root, "/proc/self/cgroup").c_str());
  std::string_view rest = groups;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    for (const auto& [mark, base] :
         {std::pair{std::string_view("0::/"), "/sys/fs/cgroup"},
          std::pair{std::string_view(":pids:/"), "/sys/fs/cgroup/pids"}}) {
      const std::size_t at = line.find(mark);
      if (at == std::string_view::npos || (mark.front() == '0' && at != 0)) continue;
      std::string path(line.substr(at + mark.size() - 1));
      if (path == "/") path.clear();
      least = std::min(least, free_in_groups(cat(root, base), std::move(path)));
    }
  }
  return least;
}

std::uint64_t free_descriptors() {
  const std::uint64_t most = soft(RLIMIT_NOFILE);
  if (most == kNoLimit) return kNoLimit;
  // Descriptors are given lowest first and hardly ever closed here, so the next one counts them.
  const Fd next(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  const std::uint64_t used = next ? static_cast<std::uint64_t>(next.get()) : most;
  return most - std::min(most, used);
}

struct Bound {
  std::uint64_t ranks;
  int error;
  std::string what;
  std::string advice;
};

}  // namespace

SystemLimits system_limits(const std::string& root) {
  SystemLimits limits;
  limits.user_processes = may_exceed_processes(root) ? kNoLimit : soft(RLIMIT_NPROC);
  limits.pid_max = number_of(cat(root, "/proc/sys/kernel/pid_max"));
  limits.threads_max = number_of(cat(root, "/proc/sys/kernel/threads-max"));
  limits.cgroup_processes = free_in_cgroup(root);
  limits.descriptors = free_descriptors();
  return limits;
}

std::optional<TooMany> too_many(std::uint64_t ranks, std::uint64_t with_input,
                                const std::string& node, const SystemLimits& limits) {
  const auto less = [](std::uint64_t limit, std::uint64_t taken) {
    return limit == kNoLimit ? kNoLimit : limit - std::min(limit, taken);
  };
  const std::uint64_t descriptors = less(limits.descriptors, kSpare + with_input);
  const Bound bounds[] = {
      {limits.user_processes, EAGAIN,
       cat("the limit of the user's processes is ", limits.user_processes), "raise it (ulimit -u)"},
      {less(limits.pid_max, kReservedPids), EAGAIN,
       cat("the machine's process numbers end at ", limits.pid_max),
       "raise /proc/sys/kernel/pid_max"},
      {limits.threads_max, EAGAIN, cat("the machine's limit of processes is ", limits.threads_max),
       "raise /proc/sys/kernel/threads-max"},
      {limits.cgroup_processes, EAGAIN,
       cat("its control group has room for ", limits.cgroup_processes, " processes"),
       "raise the group's pids.max"},
      {descriptors == kNoLimit ? kNoLimit : descriptors / kPerRank, EMFILE,
       cat("its agent needs ", kPerRank * ranks + with_input, " descriptors for them and may open ",
           limits.descriptors),
       "raise the limit of open files (ulimit -n)"},
  };
  const Bound& tightest = *std::ranges::min_element(bounds, {}, &Bound::ranks);
  if (ranks <= tightest.ranks) return std::nullopt;
  return TooMany{tightest.error,
                 Error{ErrorKind::launch, cat("start ", counted(ranks, "rank")), node,
                       tightest.what, tightest.advice + ", or put fewer ranks on a node"}};
}

}  // namespace scela::nla
