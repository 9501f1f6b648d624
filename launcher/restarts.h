// Runs the starts of a job: one, or with --restart several. Each start is a whole session
// (launcher/session.h) with a tree of agents of its own, so nothing of an earlier start is left
// when the next one begins. launcher/command.cpp calls it.
#pragma once

#include <string>

#include "common/core/result.h"
#include "launcher/hosts/host_contacts.h"
#include "launcher/io/stderr_writer.h"
#include "launcher/plan/plan.h"
#include "launcher/session.h"

namespace scela {

// A plan, and how its hosts are reached.
struct Prepared {
  Plan plan;
  HostContacts reach;
};

// Begins the search for the hosts of one start, with the patience of --wait-hosts, which tells of
// progress on standard error. A plan that is only shown waits for nothing. --timeout ends the
// search too.
HostSearch search_for(const Options& options, const LaunchContext& context);

// Finds out how the hosts are reached. If some hosts are unreachable and the job can do without
// them, the plan is made again without them, and `context` gets them as missing. The new plan may
// bring in other hosts. A command once on each host keeps its plan and the numbers of its hosts
// (keep_numbers()), unless its ranks meet; if no host is left, it has no contacts. Blocks as
// find_contacts() does. Errors are those of find_contacts() and make_plan().
Result<Prepared> reach_hosts(const Options& options, LaunchContext& context, Plan plan,
                             HostSearch& search);

// Notes that a signal or --timeout has ended the search for hosts, and what it waited for.
void note_given_up(const GivenUpWait& wait, const Options& options, JobOutcome& outcome);

// Runs the job and starts it again while it fails and Options::restarts allows it. A line for the
// user tells of each further start. A start does without the hosts that earlier ones have lost, and
// has as many ranks as the first one; if the hosts that are left do not hold them, a line says why,
// and the result is that of the last start. Signals and --timeout are of the whole job. Blocks
// until nothing of the job is left. Error: the first start cannot begin (run_session()).
Result<SessionResult> run_starts(const Options& options, LaunchContext context, Prepared prepared,
                                 const std::string& agent, StderrWriter& log);

}  // namespace scela
