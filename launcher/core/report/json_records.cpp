#include "launcher/core/report/json_records.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "launcher/core/report/json_object.h"
#include "launcher/core/report/report_text.h"

namespace scela {

namespace {

using Kind = RankOutcome::Kind;

// The statuses of hosts and ranks, as the guide names them.
constexpr std::string_view kOk = "ok";
constexpr std::string_view kFailed = "failed";
constexpr std::string_view kEnded = "ended";
constexpr std::string_view kLost = "lost";
constexpr std::string_view kMissing = "missing";
constexpr std::string_view kNotStarted = "not_started";
constexpr std::string_view kTimedOut = "timed_out";
constexpr std::string_view kUnused = "unused";

std::string_view status_of(const RankOutcome& outcome) {
  switch (outcome.kind) {
    case Kind::exited:
      return outcome.code == 0 ? kOk : kFailed;
    case Kind::signaled:
    case Kind::unfinalized:
    case Kind::aborted:
    case Kind::broke_protocol:
      return kFailed;
    case Kind::not_found:
    case Kind::not_executable:
    case Kind::not_started:
      return kNotStarted;
    case Kind::lost:
      return kLost;
    case Kind::timed_out:
      return kTimedOut;
    case Kind::killed_by_us:
      return kEnded;
  }
  return kFailed;
}

// Returns the phase in which a rank failed, or std::nullopt if it did not.
std::optional<std::string> phase_of(const RankOutcome& outcome) {
  if (!outcome.failed()) return std::nullopt;
  return std::string(status_of(outcome) == kNotStarted ? "start program" : "running");
}

std::string array_of(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts)
    out += cat(out.empty() ? "" : ",", json_string(text));
  return cat('[', out, ']');
}

// Returns the time as ISO 8601 with milliseconds, in UTC.
std::string time_text(std::int64_t unix_ms) {
  using namespace std::chrono;
  const sys_time<milliseconds> moment{milliseconds(unix_ms)};
  const sys_days midnight = floor<days>(moment);
  const year_month_day date(midnight);
  const hh_mm_ss time(moment - midnight);
  const auto padded = [](auto number, std::size_t width) {
    const std::string digits = cat(number);
    return std::string(width - std::min(width, digits.size()), '0') + digits;
  };
  return cat(padded(static_cast<int>(date.year()), 4), '-',
             padded(static_cast<unsigned>(date.month()), 2), '-',
             padded(static_cast<unsigned>(date.day()), 2), 'T', padded(time.hours().count(), 2),
             ':', padded(time.minutes().count(), 2), ':', padded(time.seconds().count(), 2), '.',
             padded(time.subseconds().count(), 3), 'Z');
}

using Counts = std::map<std::string, std::uint64_t>;

std::string counts_text(const Counts& counts) {
  JsonObject out;
  for (const auto& [status, count] : counts)
    out.number(status, count);
  return out.str();
}

using OutcomeOfRank = std::map<Rank, const RankOutcome*>;

// The members of the record of a host besides its name.
struct HostFacts {
  std::string_view status;
  std::optional<std::string> phase;
  std::optional<std::string> cause;
  std::optional<std::uint64_t> run_us;
};

// Returns the facts of a host that did not fail itself. A failure of any rank is the host's. The
// lowest rank that failed gives the cause. Without any outcome, the host never ran its ranks.
HostFacts facts_of(const RankSet& ranks, const OutcomeOfRank& outcomes, const JsonResult& result,
                   bool names_rank) {
  HostFacts facts{ranks.empty() ? kUnused : kEnded, {}, {}, {}};
  bool has_outcome = false;
  ranks.for_each([&](Rank rank) {
    if (const auto used = result.usage.find(rank); used != result.usage.end())
      facts.run_us = std::max(facts.run_us.value_or(0), used->second.run_us);
    const auto found = outcomes.find(rank);
    if (found == outcomes.end()) return;
    if (!std::exchange(has_outcome, true)) facts.status = kOk;
    if (facts.cause) return;
    const RankOutcome& outcome = *found->second;
    if (outcome.failed()) {
      facts.status = status_of(outcome);
      facts.phase = phase_of(outcome);
      facts.cause = cat(names_rank ? cat("rank ", rank, ' ') : "", cause_text(outcome));
    } else if (outcome.kind == Kind::killed_by_us) {
      facts.status = kEnded;
    }
  });
  return facts;
}

std::string host_record(std::string_view name, const RankSet& ranks, const HostFacts& facts) {
  return JsonObject()
             .text("type", "host")
             .text("host", name)
             .text("status", facts.status)
             .optional_text("phase", facts.phase)
             .optional_text("cause", facts.cause)
             .text("ranks", ranks.text())
             .seconds("seconds", facts.run_us)
             .str() +
         '\n';
}

std::string rank_record(Rank rank, const RankOutcome& outcome, const JsonResult& result) {
  const auto node = result.map.node_of(rank);
  const auto used = result.usage.find(rank);
  const JsonUsage* usage = used == result.usage.end() ? nullptr : &used->second;
  const auto figure = [&](std::uint64_t JsonUsage::*which) {
    return usage == nullptr ? std::optional<std::uint64_t>() : std::optional(usage->*which);
  };
  const bool has_code = outcome.kind == Kind::exited || outcome.kind == Kind::aborted;
  const bool is_killed = outcome.kind == Kind::signaled;
  JsonObject out;
  out.text("type", "rank")
      .number("rank", rank)
      .optional_text("host", node && *node < result.hosts.size()
                                 ? std::optional(result.hosts[*node])
                                 : std::optional<std::string>())
      .text("program", result.program_of(rank))
      .text("status", status_of(outcome))
      .optional_text("phase", phase_of(outcome))
      .optional_text("cause", outcome.failed() ? std::optional(cause_text(outcome)) : std::nullopt)
      .number("exit_code", has_code ? std::optional(outcome.code) : std::nullopt)
      .number("signal", is_killed ? std::optional(outcome.signal) : std::nullopt)
      .flag("core_dumped", outcome.core_dumped)
      .seconds("seconds", figure(&JsonUsage::run_us))
      .seconds("user_seconds", figure(&JsonUsage::user_us))
      .seconds("system_seconds", figure(&JsonUsage::system_us))
      .number("max_rss_kib", figure(&JsonUsage::max_rss_kib));
  return out.str() + '\n';
}

// Makes the records of all hosts and counts their statuses.
std::string host_records(const JsonResult& result, const JobOutcome& job,
                         const OutcomeOfRank& outcomes, Counts& counts) {
  std::map<std::string_view, HostFacts> failed;
  for (const auto& [hosts, status] : {std::pair(&result.missing, kMissing), {&result.lost, kLost}})
    for (const MissingHost& host : *hosts)
      failed.emplace(host.host, HostFacts{status, host.phase, host.why, {}});
  std::string out;
  const auto add = [&](const std::string& name, const RankSet& ranks, const HostFacts& facts) {
    ++counts[std::string(facts.status)];
    out += host_record(name, ranks, facts);
  };
  std::set<std::string_view> shown;
  for (std::size_t node = 0; node < result.hosts.size(); ++node) {
    const std::string& name = result.hosts[node];
    const RankSet ranks = result.map.ranks_of(static_cast<std::uint32_t>(node));
    shown.insert(name);
    const auto known = failed.find(name);
    add(name, ranks,
        known != failed.end() ? known->second
                              : facts_of(ranks, outcomes, result, !job.once_per_host));
  }
  for (const MissingHost& host : result.missing)
    if (shown.insert(host.host).second) add(host.host, {}, failed.at(host.host));
  return out;
}

}  // namespace

std::string job_record(const JsonJob& job) {
  std::string commands;
  for (const std::vector<std::string>& command : job.commands)
    commands += cat(commands.empty() ? "" : ",", array_of(command));
  JsonObject out;
  out.text("type", "job")
      .number("schema", kJsonSchema)
      .text("job", job.id)
      .text("started", time_text(job.began_unix_ms))
      .json("commands", cat('[', commands, ']'))
      .json("hosts", array_of(job.hosts))
      .number("ranks", job.ranks)
      .flag("once_per_host", job.once_per_host);
  return out.str() + '\n';
}

std::string output_record(Rank rank, std::string_view host, std::string_view stream,
                          std::string_view line) {
  const bool is_whole = line.ends_with('\n');
  if (is_whole) line.remove_suffix(1);
  JsonObject out;
  out.text("type", "output")
      .number("rank", rank)
      .text("host", host)
      .text("stream", stream)
      .text("line", line)
      .flag("whole", is_whole);
  return out.str() + '\n';
}

std::string end_records(const JsonResult& result, const JobOutcome& job) {
  static const RankOutcome lost{.kind = Kind::lost, .message = {}};
  OutcomeOfRank outcomes;
  for (const JobOutcome::Group& group : result.outcomes)
    group.ranks.for_each([&](Rank rank) {
      outcomes.emplace(rank, job.lost.contains(rank) ? &lost : &group.outcome);
    });
  Counts hosts, ranks;
  std::string out = host_records(result, job, outcomes, hosts);
  for (const auto& [rank, outcome] : outcomes) {
    ++ranks[std::string(status_of(*outcome))];
    out += rank_record(rank, *outcome, result);
  }
  JsonObject seconds;
  for (const auto& [phase, us] : result.phases)
    seconds.seconds(phase, us);
  const std::string cause = cause_of_end(job);
  JsonObject end;
  end.text("type", "end")
      .number("exit_status", exit_status(job))
      .optional_text("cause", cause.empty() ? std::nullopt : std::optional(cause))
      .json("hosts", counts_text(hosts))
      .json("ranks", counts_text(ranks))
      .json("seconds", seconds.str());
  return out + end.str() + '\n';
}

}  // namespace scela
