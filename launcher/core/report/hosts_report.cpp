#include "launcher/core/report/hosts_report.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "common/core/nodeset/nodeset.h"
#include "common/core/text.h"
#include "launcher/core/report/general_text.h"
#include "launcher/core/report/report_text.h"

namespace scela {
namespace {

using Kind = RankOutcome::Kind;

// Maximum number of lines about unreachable hosts.
constexpr std::size_t kMaxCauses = 16;
constexpr std::string_view kUnreachable = "unreachable";

// One way to end, as the summary counts it. Its order is the order of the summary.
struct Way {
  int order = 0;
  int number = 0;  // exit code or signal
  std::string name;
  int status = 0;
  friend bool operator<(const Way& a, const Way& b) {
    return std::tie(a.order, a.number, a.name) < std::tie(b.order, b.number, b.name);
  }
};

std::string short_signal(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? cat("signal ", signal) : cat("SIG", name);
}

Way way_of(const RankOutcome& outcome) {
  Way way;
  way.status = exit_status(outcome);
  way.order = static_cast<int>(outcome.kind) + 1;
  switch (outcome.kind) {
    case Kind::exited:
      way.number = outcome.code;
      way.order = outcome.code == 0 ? 0 : 1;
      way.name = outcome.code == 0 ? "ok" : cat("exit ", outcome.code, ":");
      break;
    case Kind::signaled:
      way.number = outcome.signal;
      way.name = cat("killed by ", short_signal(outcome.signal), ":");
      break;
    case Kind::unfinalized:
      way.name = "ended without finalizing";
      break;
    case Kind::aborted:
      way.number = outcome.code;
      way.name = cat("aborted with code ", outcome.code, ":");
      break;
    case Kind::broke_protocol:
      way.name = "broke the PMI protocol";
      break;
    case Kind::not_found:
      way.name = "program not found";
      break;
    case Kind::not_executable:
      way.name = "program not executable";
      break;
    case Kind::not_started:
      way.name = "not started";
      break;
    case Kind::lost:
      way.name = "lost";
      break;
    case Kind::timed_out:
      way.name = "timed out";
      break;
    case Kind::killed_by_us:
      way.name = "ended with the job";
      break;
  }
  return way;
}

using Ways = std::map<Way, std::vector<std::string>>;

// Assigns each host to one way. An unreachable host counts as unreachable, whatever the outcome of
// its rank is.
Ways ways_of(const JobOutcome& job) {
  Ways ways;
  std::set<std::string_view> missed;
  const Way unreachable{100, 0, std::string(kUnreachable), kExitUnreachable};
  for (const MissingHost& host : job.missing) {
    if (missed.insert(host.host).second) ways[unreachable].push_back(host.host);
  }
  RankSet open = RankSet::run(0, static_cast<Rank>(job.hosts.size()));
  for (const JobOutcome::Group& group : job.groups) {
    group.ranks.intersection(open).for_each([&](Rank rank) {
      if (missed.contains(job.hosts[rank])) return;
      // The last output of the rank may be missing, even if the rank succeeded.
      const bool lost = job.lost.contains(rank);
      ways[way_of(lost ? RankOutcome{.kind = Kind::lost, .message = {}} : group.outcome)].push_back(
          job.hosts[rank]);
    });
    open.remove(group.ranks);
  }
  open.for_each([&](Rank rank) {
    if (!missed.contains(job.hosts[rank])) {
      ways[Way{101, 0, "not run", kExitSuccess}].push_back(job.hosts[rank]);
    }
  });
  return ways;
}

// Returns the messages that a number cannot express: why a program did not start, or the message of
// an abort.
std::string causes_text(const JobOutcome& job) {
  std::string text;
  for (const JobOutcome::Group& group : job.groups) {
    if (group.outcome.message.empty() || group.outcome.kind == Kind::killed_by_us) continue;
    std::vector<std::string> hosts;
    group.ranks.for_each([&](Rank rank) {
      if (rank >= job.hosts.size()) return;
      const auto missed = [&](const MissingHost& host) { return host.host == job.hosts[rank]; };
      if (std::ranges::none_of(job.missing, missed)) hosts.push_back(job.hosts[rank]);
    });
    if (hosts.empty()) continue;
    text += cat(kProgramName, "  ", folded(hosts), ' ', cause_text(group.outcome),
                hint_text(job, group.outcome), "\n");
  }
  return text;
}

// Hosts that failed for one reason. Their texts may differ in names and addresses only.
struct Cause {
  const MissingHost* first;
  std::vector<std::string> hosts;
  bool is_same;  // the texts do not differ at all
};

// Returns a line for each set of processes that commands have left running on some hosts.
std::string left_running_text(const JobOutcome& job) {
  std::string text;
  for (const auto& [processes, hosts] : job.left_running) {
    text += cat(kProgramName, "  ", folded(hosts),
                " had processes left running, now ended: ", printable(processes),
                " (--keep leaves them)\n");
  }
  return text;
}

}  // namespace

std::string missing_text(const std::vector<MissingHost>& missing) {
  std::vector<Cause> causes;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const MissingHost& host : missing) {
    std::string why = general_text(host.why, host.host);
    const auto [at, is_new] = known.emplace(std::pair(host.phase, std::move(why)), causes.size());
    if (is_new) causes.push_back({&host, {}, true});
    Cause& cause = causes[at->second];
    cause.is_same = cause.is_same && host.why == cause.first->why && host.hint == cause.first->hint;
    cause.hosts.push_back(host.host);
  }
  std::string text;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const Cause& cause = causes[i];
    if (i >= kMaxCauses) {
      rest.insert(rest.end(), cause.hosts.begin(), cause.hosts.end());
      continue;
    }
    const MissingHost& first = *cause.first;
    const auto shown = [&](const std::string& one) {
      return printable(cause.is_same ? one : general_text(one, first.host));
    };
    text += cat(kProgramName, "  ", folded(cause.hosts), ' ', kUnreachable, " (", first.phase,
                "): ", shown(first.why),
                first.hint.empty() ? "" : cat(" (", shown(first.hint), ")"), "\n");
  }
  if (!rest.empty()) {
    text += cat(kProgramName, "  ", folded(rest), ' ', kUnreachable, " for other reasons\n");
  }
  return text;
}

int largest_status(const JobOutcome& job) {
  int largest = kExitSuccess;
  for (const auto& [way, hosts] : ways_of(job))
    largest = std::max(largest, way.status);
  return largest;
}

std::uint64_t failed_hosts(const JobOutcome& job) {
  std::uint64_t count = 0;
  for (const auto& [way, hosts] : ways_of(job))
    if (way.status != kExitSuccess) count += hosts.size();
  return count;
}

std::string hosts_verdict_text(const JobOutcome& job) {
  const Ways ways = ways_of(job);
  const std::string cause = cause_of_end(job);
  const bool all_well =
      std::ranges::all_of(ways, [](const auto& entry) { return entry.first.order == 0; });
  std::string text = left_running_text(job);
  if (all_well && cause.empty() && !job.report_all) return text;
  text += missing_text(job.missing) + causes_text(job);
  std::string summary;
  for (const auto& [way, hosts] : ways) {
    summary +=
        cat(summary.empty() ? "" : " · ", way.name, ' ', hosts.size(), " (", folded(hosts), ')');
  }
  text += cat(kProgramName, summary, "\n");
  if (!cause.empty()) text += cat(kProgramName, cause, "\n");
  return text;
}

}  // namespace scela
