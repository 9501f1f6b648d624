#include "launcher/core/report/restart_rule.h"

#include <algorithm>

#include "common/core/text.h"
#include "launcher/core/report/report_text.h"

namespace scela {

namespace {

using Kind = RankOutcome::Kind;

// Returns true if the program itself could not be started, which it could not the next time either.
bool is_of_program(const RankOutcome& outcome) {
  return outcome.kind == Kind::not_found || outcome.kind == Kind::not_executable ||
         outcome.kind == Kind::not_started;
}

}  // namespace

RestartRule restart_rule(const JobOutcome& outcome, const std::vector<MissingHost>& known) {
  RestartRule rule;
  if (outcome.interrupted || outcome.timed_out) return rule;
  const auto is_new = [](const std::vector<MissingHost>& list, const std::string& host) {
    return std::ranges::find(list, host, &MissingHost::host) == list.end();
  };
  for (const MissingHost& host : outcome.missing)
    if (is_new(known, host.host) && is_new(rule.lost, host.host)) rule.lost.push_back(host);
  for (const std::string& host : outcome.failed_nodes) {
    if (std::ranges::find(outcome.cut_off_nodes, host) != outcome.cut_off_nodes.end()) continue;
    if (is_new(known, host) && is_new(rule.lost, host))
      rule.lost.push_back({host, "running", "it was lost in an earlier start of the job"});
  }
  if (outcome.error) {
    const bool by_host =
        outcome.error->kind == ErrorKind::unreachable || outcome.error->kind == ErrorKind::launch;
    rule.may_help = by_host && !rule.lost.empty();
  } else if (outcome.first && outcome.first->outcome.failed()) {
    rule.may_help = !is_of_program(outcome.first->outcome);
  }
  return rule;
}

std::string restart_line(std::uint32_t restart, std::uint32_t most, const RestartRule& rule,
                         const JobOutcome& outcome) {
  const std::string which =
      restart == 0 ? std::string("start") : cat("restart ", restart, " of ", most);
  std::vector<std::string> names;
  for (const MissingHost& host : rule.lost)
    names.push_back(host.host);
  const std::string without = names.empty() ? "" : cat(" without ", folded(names));
  return cat(kProgramName, which, without, ": ", cause_of_end(outcome), "\n");
}

}  // namespace scela
