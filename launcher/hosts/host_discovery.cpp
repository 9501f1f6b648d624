#include "launcher/hosts/host_discovery.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/process/child.h"
#include "launcher/core/hosts/hostfile.h"
#include "launcher/core/report/report_text.h"
#include "launcher/hosts/late/joined_agents.h"
#include "launcher/io/captured_command.h"
#include "launcher/report/direct_output.h"
#include "nla/spawn/factory.h"

namespace scela {

namespace {

// A program that asks a busy server may take seconds. One that hangs must not hang the job for
// ever.
constexpr std::chrono::milliseconds kProgramLimit{30'000};

Error discovery_failure(const std::string& program, std::string why, std::string hint = {}) {
  return Error{ErrorKind::usage, "ask for the hosts (--host-discovery-script)", program,
               std::move(why), std::move(hint)};
}

// Runs the program, and returns what it has written to standard output. Nothing of a program that
// is ended stays.
Result<std::string> list_of(const std::string& program, const LaunchContext& context,
                            HostPatience& patience) {
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CommandSpec spec{{program}, context.environment, nothing.get(), true};
  spec.is_kept = true;
  auto command = CapturedCommand::start(std::move(spec));
  if (!command) {
    return fail(discovery_failure(program, command.error().why,
                                  "name a program that prints 'HOST' or 'HOST:SLOTS' lines"));
  }
  const auto status = command->wait(kProgramLimit, patience.end_descriptor());
  if (!status) {
    command->kill();
    if (patience.is_given_up()) return fail(HostPatience::error());
    return fail(discovery_failure(program, cat("no end within ", kProgramLimit.count(), " ms")));
  }
  if (*status != 0) {
    std::string said = command->errors();
    while (said.ends_with('\n'))
      said.pop_back();
    return fail(discovery_failure(
        program, cat("it ", end_of(*status), said.empty() ? "" : "; it said: ", printable(said))));
  }
  std::string text = command->output();
  if (text.size() == CapturedCommand::kMaxOutput)
    return fail(discovery_failure(program, "it has printed 16 MiB or more"));
  return text;
}

// Forgets the missing hosts that are not in the list any more, and takes out the others.
void match_missing(std::vector<HostEntry>& hosts, std::vector<MissingHost>& missing) {
  std::erase_if(missing, [&](const MissingHost& one) {
    return std::ranges::find(hosts, one.host, &HostEntry::name) == hosts.end();
  });
  std::erase_if(hosts, [&](const HostEntry& host) {
    return std::ranges::find(missing, host.name, &MissingHost::host) != missing.end();
  });
}

// A list, and the reason why it is not enough, as a clause.
struct Reading {
  std::string text;
  std::string lack;
  std::optional<Error> error;
};

Reading read_once(const Options& options, LaunchContext& context, HostPatience& patience) {
  const std::string& program = *options.hostfile;
  auto text = list_of(program, context, patience);
  if (!text) return {{}, text.error().why, text.error()};
  Reading out{std::move(*text), {}, {}};
  if (out.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    out.lack = "it names no host";
    out.error = discovery_failure(program, out.lack, "wait for hosts with --wait-hosts TIME");
    context.missing.clear();
    return out;
  }
  auto hosts = parse_hostfile(out.text, program);
  // A malformed list does not become right by waiting. The plan reports it.
  if (!hosts) return out;
  match_missing(*hosts, context.missing);
  if (options.exclude) {
    auto left = exclude_hosts(std::move(*hosts), *options.exclude);
    hosts = left ? std::move(*left) : std::vector<HostEntry>();
  }
  out.lack = lack_of_hosts(*hosts, options);
  if (!out.lack.empty()) out.lack.insert(0, "it names ");
  return out;
}

// The time in which agents of the last start come again for the next one. Hosts clean up before.
constexpr std::chrono::milliseconds kReturnLimit{15'000};

Result<void> listen_for_agents(const Options& options, HostSearch& search) {
  const auto agent = nla::find_agent(options.agent.value_or(""), true);
  if (!agent) return fail(agent.error());
  auto made = JoinedAgents::listen({*options.listen, *options.key_file, *agent, {}});
  if (!made) return fail(std::move(made.error()));
  search.joined = std::move(*made);
  return {};
}

void await_returning(JoinedAgents& joined, HostPatience& patience) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto deadline = now() + kReturnLimit;
  while (joined.has_returning() && now() < deadline && !patience.is_given_up())
    joined.serve(std::chrono::ceil<std::chrono::milliseconds>(deadline - now()),
                 patience.end_descriptor());
  joined.drop_returning();
}

// Waits for agents that join, and puts them into the context as a host file. If this is a restart,
// those of the last start come again.
Result<void> take_agents(const Options& options, LaunchContext& context, HostSearch& search) {
  if (!search.joined) {
    if (auto listening = listen_for_agents(options, search); !listening) return listening;
  }
  JoinedAgents& joined = *search.joined;
  HostPatience& patience = search.patience;
  patience.wait_for(cat("waiting for agents at ", *options.listen));
  joined.tell_by([](const std::string& line) {
    print(2, cat(kProgramName, printable(line, kMaxOwnText), "\n"));
  });
  await_returning(joined, patience);
  std::string lack;
  // The pause is cut short by each agent that joins.
  constexpr std::chrono::milliseconds kReportInterval{1000};
  for (;;) {
    std::vector<HostEntry> hosts = joined.hosts();
    lack = lack_of_hosts(hosts, options);
    if (lack.empty()) break;
    if (!patience.goes_on(cat("waiting for agents at ", *options.listen, ": ", lack))) break;
    joined.serve(std::min(kReportInterval, patience.left()), patience.end_descriptor());
  }
  if (patience.is_given_up()) return fail(HostPatience::error());
  if (!lack.empty()) {
    return fail(Error{ErrorKind::launch, "wait for agents that join (--listen)", *options.listen,
                      lack, "start scela-nla --join on more hosts, or wait longer (--wait-hosts)"});
  }
  std::string text;
  for (const HostEntry& host : joined.hosts()) {
    text += cat(host.name, " slots=", *host.slots, "\n");
    // A host that was lost is here again: its agent was started anew.
    std::erase_if(context.missing, [&](const MissingHost& one) { return one.host == host.name; });
  }
  context.joined_hosts = std::move(text);
  return {};
}

}  // namespace

Result<void> discover_hosts(const Options& options, LaunchContext& context, HostSearch& search) {
  const bool listens = options.listen && !options.dry_run;
  if (!listens && (!options.hostfile || !options.hostfile_is_program)) return {};
  HostPatience& patience = search.patience;
  const WatchedPatience watched(patience);
  if (listens) return take_agents(options, context, search);
  const std::string waiting = cat("waiting for hosts of '", *options.hostfile, "'");
  patience.wait_for(waiting);
  for (;;) {
    Reading reading = read_once(options, context, patience);
    if (!reading.lack.empty() && patience.pause(cat(waiting, ": ", reading.lack))) continue;
    if (patience.is_given_up()) return fail(HostPatience::error());
    if (reading.error) return fail(std::move(*reading.error));
    context.hostfile_text = std::move(reading.text);
    return {};
  }
}

}  // namespace scela
