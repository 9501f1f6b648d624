#include "launcher/restarts.h"

#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "common/core/text.h"
#include "common/os/clock.h"
#include "common/os/process/process_tree.h"
#include "launcher/core/report/report_text.h"
#include "launcher/core/report/restart_rule.h"
#include "launcher/debug/mpir.h"
#include "launcher/hosts/host_discovery.h"
#include "launcher/hosts/late/joined_agents.h"
#include "launcher/report/direct_output.h"

namespace scela {

namespace {

std::vector<std::string> names_of(const std::vector<MissingHost>& hosts) {
  std::vector<std::string> out;
  for (const MissingHost& host : hosts)
    out.push_back(host.host);
  return out;
}

// Makes the plan of the next start, without the hosts that `rule` says were lost. `ranks` are the
// numbers of ranks of the programs; it is empty if no rank has run, and then the start is no
// restart. `given_up` is set if a signal or --timeout has ended the search for hosts.
Result<Prepared> prepare_next(Options& options, LaunchContext& context, const RestartRule& rule,
                              const std::vector<std::uint32_t>& ranks,
                              const std::shared_ptr<JoinedAgents>& joined,
                              std::optional<GivenUpWait>& given_up) {
  context.missing.insert(context.missing.end(), rule.lost.begin(), rule.lost.end());
  if (!ranks.empty()) ++context.restarts;
  for (std::size_t i = 0; i < options.apps.size() && i < ranks.size(); ++i)
    options.apps[i].np = ranks[i];
  HostSearch search = search_for(options, context);
  search.joined = joined;
  if (joined) joined->recall(names_of(rule.lost));
  auto found = discover_hosts(options, context, search);
  given_up = search.patience.given_up();
  if (!found) return fail(std::move(found.error()));
  auto plan = make_plan(options, context);
  if (!plan) return fail(plan.error());
  auto prepared = reach_hosts(options, context, std::move(*plan), search);
  given_up = search.patience.given_up();
  return prepared;
}

// Does what run_starts() does, but for the end of agents that have joined. Sets `has_run` if ranks
// have run in one of the starts.
Result<SessionResult> run_all(const Options& options, LaunchContext context, Prepared prepared,
                              const std::string& agent, StderrWriter& log, bool& has_run) {
  const std::shared_ptr<JoinedAgents> joined = prepared.reach.joined;
  Options next = options;  // the number of ranks is that of the first start
  for (std::uint32_t starts = 1;; ++starts) {
    auto result = run_session(next, std::move(prepared.plan), std::move(prepared.reach), agent, log,
                              context.began_ns);
    has_run = has_run || (result && !result->ranks_of_programs.empty());
    if (!result || options.restarts == 0) return result;
    const RestartRule rule = restart_rule(result->outcome, context.missing);
    // A start that failed before its ranks ran costs no restart, but the hosts that it has lost.
    const bool ran = !result->ranks_of_programs.empty();
    if (!rule.may_help || (ran && context.restarts == options.restarts)) return result;
    context.job_id = cat(context.run_id, "-", starts);
    std::optional<GivenUpWait> given_up;
    auto again = prepare_next(next, context, rule, result->ranks_of_programs, joined, given_up);
    if (given_up) {
      note_given_up(*given_up, options, result->outcome);
      return result;
    }
    if (!again) {
      log.write(cat(kProgramName, "no further start: ", printable(again.error().text()), "\n"));
      return result;
    }
    log.write(result->statistics);
    log.write(restart_line(context.restarts, options.restarts, rule, result->outcome));
    prepared = std::move(*again);
  }
}

}  // namespace

void note_given_up(const GivenUpWait& wait, const Options& options, JobOutcome& outcome) {
  outcome.interrupted = wait.cause.signal;
  if (!wait.cause.signal) outcome.timed_out = options.timeout;
  outcome.given_up_while = wait.waiting;
}

HostSearch search_for(const Options& options, const LaunchContext& context) {
  if (options.listen && !is_debugged()) keep_secrets();  // the key of --key-file
  const auto limit = options.dry_run ? std::chrono::milliseconds(0)
                                     : host_wait_limit(options, Environment(context.environment));
  const auto tell = [](const std::string& line) {
    print(2, cat(kProgramName, printable(line, kMaxOwnText), "\n"));
  };
  std::optional<HostPatience::Clock::time_point> deadline;
  if (options.timeout) deadline = moment_of(context.began_ns) + *options.timeout;
  return {HostPatience(limit, deadline, tell), nullptr};
}

Result<Prepared> reach_hosts(const Options& options, LaunchContext& context, Plan plan,
                             HostSearch& search) {
  for (;;) {
    auto reach = find_contacts(options, plan, context.environment, search);
    if (!reach) return fail(reach.error());
    if (reach->missing.empty()) return Prepared{std::move(plan), std::move(*reach)};
    // Ranks of training jobs know how many they are, so the missing ones do not count. If a failure
    // ends the job, a missing host must not be a failure.
    const bool keeps_numbers = plan.once_per_host && !plan.job.training.styles.any() &&
                               plan.job.on_failure != nla::OnFailure::kill &&
                               reach->contacts.size() >= plan.min_nodes;
    if (keeps_numbers && !reach->contacts.empty()) {
      keep_numbers(plan, *reach);
      return Prepared{std::move(plan), std::move(*reach)};
    }
    context.missing.insert(context.missing.end(), reach->missing.begin(), reach->missing.end());
    if (plan.once_per_host && reach->contacts.empty()) {  // no host is left: a normal result
      plan.missing = context.missing;
      return Prepared{std::move(plan), {}};
    }
    auto again = make_plan(options, context);
    if (!again) return fail(again.error());
    plan = std::move(*again);
  }
}

Result<SessionResult> run_starts(const Options& options, LaunchContext context, Prepared prepared,
                                 const std::string& agent, StderrWriter& log) {
  const std::shared_ptr<JoinedAgents> joined = prepared.reach.joined;
  bool has_run = false;
  auto result = run_all(options, std::move(context), std::move(prepared), agent, log, has_run);
  if (joined) joined->finish(has_run);
  return result;
}

}  // namespace scela
