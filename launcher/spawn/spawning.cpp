#include "launcher/spawn/spawning.h"

#include <algorithm>
#include <utility>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "launcher/core/report/report_text.h"
#include "launcher/spawn/spawn_plan.h"

namespace scela {

namespace {

// Maximum number of lines about failed spawns. With a larger value, a rank or a compromised node
// that asks in vain without end fills more of the user's terminal.
constexpr std::uint32_t kMaxTold = 100;

}  // namespace

namespace event = nla::event;

Spawning::Spawning(Plan& plan, const RankSet& failed, const Options& options, StderrWriter& person,
                   Log& log, Hooks sides)
    : plan_(plan),
      options_(options),
      stderr_(person),
      log_(log),
      sides_(std::move(sides)),
      expansion_(plan, failed, options.max_conn, growth_hooks()) {}

void Spawning::open(boost::asio::io_context& io, HostFinder::Find find) {
  find_ = find;
  finder_ = std::make_unique<HostFinder>(
      io, std::move(find),
      [this](const std::vector<HostLookup>& hosts) { expansion_.found(hosts); });
}

void Spawning::add_host(const HostEntry& host) {
  const auto is_it = [&](const AgentlessHost& one) { return one.node.name == host.name; };
  std::erase_if(plan_.later, is_it);  // one that was lost before it was used
  if (std::ranges::find(plan_.hosts, host.name) == plan_.hosts.end())
    plan_.later.push_back({{host.name, host.slots}, {}});
}

void Spawning::close() {
  finder_->close();
}

HostExpansion::Hooks Spawning::growth_hooks() {
  HostExpansion::Hooks hooks;
  hooks.find = [this](const std::vector<std::string>& hosts) {
    if (plan_.remote) return finder_->find(hosts);
    expansion_.found(find_(hosts));  // local hosts need no lookup
  };
  hooks.start = [this](const std::vector<std::string>& contacts) {
    log_.say(Subsystem::tree, cat("starting ", counted(contacts.size(), "agent"),
                                  " more, for ranks that are spawned"));
    sides_.post(event::AddHosts{contacts});
  };
  hooks.planned = [this](const nla::action::Spawn& spawn, Result<nla::World> world) {
    planned(spawn, std::move(world));
  };
  return hooks;
}

void Spawning::on(const nla::action::Spawn& asked) {
  if (!options_.no_spawn) return expansion_.ask(asked);
  planned(asked,
          fail(Error{ErrorKind::usage, "spawning is switched off (--no-spawn)", "", "", ""}));
}

void Spawning::planned(const nla::action::Spawn& spawn, Result<nla::World> world) {
  event::Planned planned{spawn.rank, spawn.id, {}, {}};
  if (world) {
    planned.world = *world;
    if (auto added = plan_.job.add(std::move(*world)); !added) planned.why = added.error().why;
  } else {
    planned.why = world.error().text();
  }
  if (planned.why.empty()) {
    sides_.more_ranks();
    if (options_.verbose) {
      log_.say(Subsystem::launch, printable(spawn_text(plan_, spawn.rank, planned.world)));
    }
  } else {
    report_failed(spawn.rank, planned.why);
  }
  sides_.post(std::move(planned));
}

void Spawning::on(const nla::action::WorldLaunched& launched) {
  if (launched.why.empty()) return;
  unspawned_.add(launched.ranks);
  const std::size_t world = plan_.job.world_of(launched.ranks.front());
  report_failed(plan_.job.worlds[world - 1].parent, launched.why);
}

// The rank that asked gets the error too, and may go on. The user is told the reason in any case.
void Spawning::report_failed(Rank asker, const std::string& why) {
  if (told_ > kMaxTold) return;
  if (++told_ > kMaxTold) {
    stderr_.write(cat(kProgramName, "further failures to spawn are not told\n"));
    return;
  }
  stderr_.write(cat(kProgramName, "rank ", asker, " (", printable(plan_.program_of(asker)),
                    ") could not spawn: ", printable(why), "\n"));
}

}  // namespace scela
