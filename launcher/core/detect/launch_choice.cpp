#include "launcher/core/detect/launch_choice.h"

#include <algorithm>

#include "common/core/text.h"

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

// Returns true if ScELA uses this bulk starter.
bool is_used(const Starter& starter) {
  return starter.kind == StarterKind::bulk && starter.command == "srun";
}

Error not_started_by(Scheduler scheduler, const Starter& starter) {
  const bool is_bulk = starter.kind == StarterKind::bulk;
  return Error{ErrorKind::usage, cat("start agents in a job of ", name_of(scheduler)), "",
               is_bulk ? cat("ScELA does not start agents by ", starter.command, " yet")
                       : std::string("it has no command that starts agents"),
               cat("leave --launch ", word_of(scheduler),
                   " out: agents are then started over ssh on the hosts of the job")};
}

std::string set_aside_line(const SetAside& one) {
  const std::string_view word = word_of(one.scheduler);
  return cat("set aside: ", one.text,
             word.empty() ? std::string() : cat("; --launch ", word, " chooses it"));
}

// Returns a line that says how agents are started.
std::string agents_line(const LaunchWish& wish, const LaunchChoice& choice,
                        const Starter& starter) {
  if (choice.is_bulk) return cat("agents: by one ", starter.command, " for all hosts");
  if (!choice.program.empty())
    return cat("agents: by '", choice.program, "' on each host, from this machine");
  if (wish.method == LaunchMethod::program)
    return cat("agents: by '", wish.program, "' (--launch)");
  if (wish.method == LaunchMethod::ssh) return "agents: over ssh (--launch)";
  if (starter.kind == StarterKind::bulk)
    return cat("agents: over ssh, as ScELA does not start them by ", starter.command, " yet");
  return "agents: over ssh";
}

}  // namespace

Result<LaunchChoice> choose_launch(const LaunchWish& wish, Detection detection,
                                   const Environment& environment) {
  LaunchChoice out;
  if (detection.allocation) {
    const Allocation& found = *detection.allocation;
    const Starter starter = starter_of(found.scheduler, environment);
    if (wish.scheduler && starter.kind != StarterKind::per_host && !is_used(starter))
      return fail(not_started_by(found.scheduler, starter));
    const std::string foreign = first_foreign(wish.hosts, found);
    if (!foreign.empty() && wish.scheduler) {
      return fail(Error{ErrorKind::usage,
                        cat("start an agent in a job of ", name_of(found.scheduler)), foreign,
                        cat("it is not a host of the job (", found.source, ")"),
                        "name hosts of the job only, or give --launch ssh"});
    }
    if (!foreign.empty()) {
      out.lines.push_back(
          cat("set aside: ", allocation_text(found), "; '", foreign, "' is not a host of it"));
    } else {
      out.lines.push_back(cat("allocation: ", allocation_text(found)));
      if (!wish.hosts.empty()) out.lines.back() += ", of which the command line names hosts";
      if (wish.method == LaunchMethod::automatic && starter.kind == StarterKind::per_host)
        out.program = starter.command;
      out.is_bulk = wish.method == LaunchMethod::automatic && is_used(starter);
      out.lines.push_back(agents_line(wish, out, starter));
      if (wish.hosts.empty()) out.allocation = std::move(detection.allocation);
    }
  }
  for (const SetAside& one : detection.set_aside)
    out.lines.push_back(set_aside_line(one));
  return out;
}

}  // namespace scela
