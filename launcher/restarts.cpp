#include "launcher/restarts.h"

#include <chrono>
#include <iterator>
#include <memory>
#include <utility>

#include "common/core/text.h"
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
// restart.
Result<Prepared> prepare_next(Options& options, LaunchContext& context, const RestartRule& rule,
                              const std::vector<std::uint32_t>& ranks,
                              const std::shared_ptr<JoinedAgents>& joined) {
  context.missing.insert(context.missing.end(), rule.lost.begin(), rule.lost.end());
  if (!ranks.empty()) ++context.restarts;
  for (std::size_t i = 0; i < options.apps.size() && i < ranks.size(); ++i)
    options.apps[i].np = ranks[i];
  HostSearch search = search_for(options, context);
  search.joined = joined;
  if (joined) joined->recall(names_of(rule.lost));
  if (auto found = discover_hosts(options, context, search); !found)
    return fail(std::move(found.error()));
  auto plan = make_plan(options, context);
  if (!plan) return fail(plan.error());
  return reach_hosts(options, context, std::move(*plan), search);
}

// Does what run_starts() does, but for the end of agents that have joined.
Result<SessionResult> run_all(const Options& options, LaunchContext context, Prepared prepared,
                              const std::string& agent, StderrWriter& log, std::int64_t began_ns) {
  const std::shared_ptr<JoinedAgents> joined = prepared.reach.joined;
  const auto first_start = std::chrono::steady_clock::now();
  Options next = options;  // the number of ranks is that of the first start
  for (std::uint32_t starts = 1;; ++starts) {
    auto result = run_session(next, std::move(prepared.plan), std::move(prepared.reach), agent, log,
                              SessionClock{began_ns, first_start});
    if (!result || options.restarts == 0) return result;
    const RestartRule rule = restart_rule(result->outcome, context.missing);
    // A start that failed before its ranks ran costs no restart, but the hosts that it has lost.
    const bool ran = !result->ranks_of_programs.empty();
    if (!rule.may_help || (ran && context.restarts == options.restarts)) return result;
    context.job_id = cat(context.run_id, "-", starts);
    auto again = prepare_next(next, context, rule, result->ranks_of_programs, joined);
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

HostSearch search_for(const Options& options, const LaunchContext& context) {
  if (options.listen && !is_debugged()) keep_secrets();  // the key of --key-file
  const auto limit = options.dry_run ? std::chrono::milliseconds(0)
                                     : host_wait_limit(options, Environment(context.environment));
  const auto tell = [](const std::string& line) {
    print(2, cat(kProgramName, printable(line, kMaxOwnText), "\n"));
  };
  return {HostPatience(limit, tell), nullptr};
}

Result<Prepared> reach_hosts(const Options& options, LaunchContext& context, Plan plan,
                             HostSearch& search) {
  for (;;) {
    auto reach = find_contacts(options, plan, context.environment, search);
    if (!reach) return fail(reach.error());
    if (reach->missing.empty()) return Prepared{std::move(plan), std::move(*reach)};
    context.missing.insert(context.missing.end(), reach->missing.begin(), reach->missing.end());
    if (plan.once_per_host && reach->missing.size() == plan.hosts.size()) {
      plan.hosts.clear();  // no host is left: a normal result
      plan.missing = context.missing;
      return Prepared{std::move(plan), {}};
    }
    auto again = make_plan(options, context);
    if (!again) return fail(again.error());
    plan = std::move(*again);
  }
}

Result<SessionResult> run_starts(const Options& options, LaunchContext context, Prepared prepared,
                                 const std::string& agent, StderrWriter& log,
                                 std::int64_t began_ns) {
  const std::shared_ptr<JoinedAgents> joined = prepared.reach.joined;
  auto result = run_all(options, std::move(context), std::move(prepared), agent, log, began_ns);
  if (joined) joined->finish();
  return result;
}

}  // namespace scela
