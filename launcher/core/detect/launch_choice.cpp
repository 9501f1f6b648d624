#include "launcher/core/detect/launch_choice.h"

#include <algorithm>

#include "common/core/text.h"
#include "launcher/core/hosts/hostfile.h"

namespace scela {
namespace {

// Returns the first of the named hosts that is not of the allocation, or "" if all of them are.
std::string first_foreign(const std::vector<std::string>& named, const Allocation& allocation) {
  for (const std::string& name : named) {
    if (std::ranges::find(allocation.hosts, name, &AllocatedHost::name) == allocation.hosts.end())
      return name;
  }
  return {};
}

// Returns true if the user may choose the scheduler: it starts agents, or it has hosts that nothing
// else tells.
bool is_usable(Scheduler scheduler, const Starter& starter) {
  return scheduler == Scheduler::pmix || starter.kind == StarterKind::per_host ||
         starter.kind == StarterKind::bulk;
}

Error not_started_by(Scheduler scheduler, const Starter& starter) {
  return Error{
      ErrorKind::usage, cat("start agents in a job of ", name_of(scheduler)), "",
      starter.kind == StarterKind::unusable
          ? cat("agents get no secret by ", starter.command, ", which carries no standard input")
          : std::string("it has no command that starts agents"),
      cat("leave --launch ", word_of(scheduler),
          " out: agents are then started over ssh on the hosts of the job")};
}

std::string set_aside_line(const SetAside& one) {
  const std::string_view word = word_of(one.scheduler);
  return cat("set aside: ", one.text,
             word.empty() ? std::string() : cat("; --launch ", word, " chooses it"));
}

// Returns true if all hosts of the job are this machine, as launcher/plan/job_hosts.cpp sees it.
bool is_here_only(const LaunchWish& wish, const Allocation& allocation) {
  if (wish.host_name.empty()) return false;
  if (!wish.hosts.empty()) {
    return std::ranges::all_of(wish.hosts, [&](const std::string& name) {
      return name == wish.host_name || wish.host_name.starts_with(cat(name, "."));
    });
  }
  std::vector<HostEntry> hosts;
  for (const AllocatedHost& host : allocation.hosts) {
    const bool is_own = is_same_machine(host.name, wish.host_name);
    hosts.push_back({is_own ? wish.host_name : host.name, std::nullopt});
  }
  auto left = wish.exclude ? exclude_hosts(hosts, *wish.exclude) : std::move(hosts);
  return left && !left->empty() && std::ranges::all_of(*left, [&](const HostEntry& host) {
           return host.name == wish.host_name;
         });
}

// Returns a line that says how agents are started.
std::string agents_line(const LaunchWish& wish, const LaunchChoice& choice, const Starter& starter,
                        const Allocation& allocation) {
  if (is_here_only(wish, allocation)) return "agents: by scela-run itself, on this machine only";
  if (choice.bulk) return cat("agents: by one ", starter.command, " for all hosts");
  if (!choice.program.empty())
    return cat("agents: by '", choice.program, "' on each host, from this machine");
  if (wish.method == LaunchMethod::program)
    return cat("agents: by '", wish.program, "' (--launch)");
  if (wish.method == LaunchMethod::ssh) return "agents: over ssh (--launch)";
  if (starter.kind == StarterKind::unusable)
    return cat("agents: over ssh, as ", starter.command, " carries no standard input to them");
  return "agents: over ssh";
}

}  // namespace

Result<LaunchChoice> choose_launch(const LaunchWish& wish, Detection detection,
                                   const Environment& environment) {
  LaunchChoice out;
  if (detection.allocation) {
    const Allocation& found = *detection.allocation;
    const Starter starter = starter_of(found.scheduler, environment);
    if (wish.scheduler && !is_usable(found.scheduler, starter))
      return fail(not_started_by(found.scheduler, starter));
    const std::string foreign = first_foreign(wish.hosts, found);
    // A list with hosts of the job and one other is more likely to have a mistyped name.
    const bool is_mixed = wish.method == LaunchMethod::automatic &&
                          std::ranges::any_of(wish.hosts, [&](const auto& host) {
                            return first_foreign({host}, found).empty();
                          });
    if (!foreign.empty() && (wish.scheduler || is_mixed)) {
      return fail(Error{ErrorKind::usage,
                        cat("start an agent in a job of ", name_of(found.scheduler)), foreign,
                        cat("it is not a host of the job (", found.source, ")"),
                        "name hosts of the job only, or give --launch ssh"});
    }
    if (!foreign.empty()) {
      out.lines.push_back(
          cat("set aside: ", allocation_text(found), "; '", foreign, "' is not a host of it"));
    } else {
      out.scheduler = found.scheduler;
      out.lines.push_back(cat("allocation: ", allocation_text(found)));
      if (!wish.hosts.empty()) out.lines.back() += ", of which the command line names hosts";
      if (wish.method == LaunchMethod::automatic && starter.kind == StarterKind::per_host)
        out.program = starter.command;
      if (wish.method == LaunchMethod::automatic && starter.kind == StarterKind::bulk)
        out.bulk = BulkStarter{found.scheduler, starter.command, found.hosts};
      out.lines.push_back(agents_line(wish, out, starter, found));
      if (wish.hosts.empty()) out.allocation = std::move(detection.allocation);
    }
  }
  for (const SetAside& one : detection.set_aside)
    out.lines.push_back(set_aside_line(one));
  return out;
}

}  // namespace scela
