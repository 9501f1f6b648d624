#include "launcher/report/job_records.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/core/text.h"
#include "common/os/clock.h"
#include "common/os/syscall.h"
#include "launcher/core/report/report_text.h"
#include "launcher/report/verdict.h"
#include "nla/ranks/rank_usage.h"

namespace scela {

namespace {

// A pipe that poll() reports writable takes at least this many bytes without blocking.
constexpr std::size_t kPipeWrite = 4096;

Error file_error(const std::string& path, int error) {
  return Error{ErrorKind::io, cat("write the records '", path, "'"), "", errno_text(error),
               error == ENOSPC ? "free some space and run the job again"
                               : "name a file that can be written with --json=FILE"};
}

bool is_fifo(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode);
}

std::int64_t unix_ms_of(std::int64_t monotonic) {
  using namespace std::chrono;
  const auto now = system_clock::now().time_since_epoch();
  const nanoseconds ago(static_cast<std::int64_t>(monotonic_ns()) - monotonic);
  return duration_cast<milliseconds>(now - ago).count();
}

}  // namespace

Result<void> JobRecords::open(const std::string& path, bool continues, Write to_standard_output,
                              const Write& tell) {
  path_ = path;
  if (path == kStandardOutput) {
    to_standard_output_ = std::move(to_standard_output);
    return {};
  }
  const int fresh = continues ? 0 : O_TRUNC;
  const int how = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | fresh;
  const auto open_with = [&](int flags) {
    return Fd(retry([&] { return ::open(path.c_str(), how | flags, 0666); }));
  };
  file_ = open_with(O_NONBLOCK);
  if (!file_ && errno == ENXIO && is_fifo(path)) {
    tell(cat(kProgramName, "the FIFO '", printable(path),
             "' of --json has no reader yet; waiting for one\n"));
    file_ = open_with(0);
  }
  if (!file_) return fail(file_error(path, errno));
  return {};
}

void JobRecords::begin(const Plan& plan, std::int64_t began_ns) {
  if (!is_open() || std::exchange(has_begun_, true)) return;
  JsonJob job;
  job.id = plan.job.id;
  job.began_unix_ms = unix_ms_of(began_ns);
  job.commands = plan.commands;
  job.hosts = plan.hosts;
  job.ranks = plan.job.map.size();
  job.once_per_host = plan.once_per_host;
  write(job_record(job), {});
}

void JobRecords::add_failure(MissingHost host, bool is_lost) {
  if (!is_open()) return;
  (is_lost ? result_.lost : result_.missing).push_back(std::move(host));
}

void JobRecords::add_outcome(const nla::Outcome& outcome, const RankSet& ranks) {
  if (is_open()) result_.outcomes.push_back({to_rank_outcome(outcome), ranks});
}

void JobRecords::add_report(std::uint32_t node, const RankSet& ranks, std::string_view piece) {
  if (!is_open()) return;
  lines_.add(node, piece, [&](std::string_view line) {
    const auto usage = nla::parse_usage(line);
    if (!usage || !ranks.contains(usage->rank)) return;
    result_.usage[usage->rank] = {usage->run_us, usage->user_us, usage->system_us,
                                  usage->max_rss_kib};
  });
}

void JobRecords::end(const Plan& plan, const JobOutcome& outcome, const Phases& phases,
                     Deadline until) {
  if (!is_open()) return;
  begin(plan, phases.begin);
  result_.hosts = plan.hosts;
  result_.map = plan.job.map;
  result_.program_of = [&plan](Rank rank) { return plan.program_of(rank); };
  result_.missing.insert(result_.missing.end(), plan.missing.begin(), plan.missing.end());
  result_.phases = phase_times(phases);
  write(end_records(result_, outcome), until);
}

void JobRecords::write(std::string text, const Deadline& until) {
  if (to_standard_output_) return to_standard_output_(std::move(text));
  for (std::string_view rest = text; !rest.empty() && !error_;) {
    if (!wait(until)) {
      error_ = file_error(path_, ETIMEDOUT);
      return;
    }
    const ssize_t wrote = ::write(file_.get(), rest.data(), std::min(kPipeWrite, rest.size()));
    if (wrote >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno != EINTR && errno != EAGAIN) {
      error_ = file_error(path_, errno);
    }
  }
}

bool JobRecords::wait(const Deadline& until) const {
  using std::chrono::milliseconds;
  for (;;) {
    milliseconds left(-1);
    if (until) {
      left = std::chrono::ceil<milliseconds>(*until - std::chrono::steady_clock::now());
      left = std::clamp<milliseconds>(left, milliseconds(0), std::chrono::hours(1));
    }
    pollfd one{file_.get(), POLLOUT, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;  // write() finds an error
    if (ready < 0 && errno != EINTR) return false;
    if (until && std::chrono::steady_clock::now() >= *until) return false;
  }
}

}  // namespace scela
