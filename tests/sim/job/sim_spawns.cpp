#include "tests/sim/job/sim_spawns.h"

#include <utility>

#include "common/core/text.h"
#include "tests/sim/generator/payload.h"

namespace scela::sim {

namespace action = nla::action;
namespace event = nla::event;

void Spawns::on(std::uint32_t index, const action::Spawn& action) {
  if (index != 0) return run_.fail(nodes_.name(index) + " plans a spawn, only the root may");
  asked_.push_back(action);
  run_.after(run_.random.below(300), TaskKind::plan);
}

void Spawns::plan() {
  const action::Spawn action = std::move(asked_.front());
  asked_.pop_front();
  if (!nodes_.running(0)) return;
  const auto op = static_cast<std::uint32_t>(std::stoul(action.request.programs.at(0).argv.at(1)));
  const RankSet ranks = run_.schedule.spawned_by(op);
  event::Planned planned{action.rank, action.id, {}, {}};
  if (ranks.front() != job_.now.map.size()) {
    planned.why = "it is not its turn";
    job_.unspawned.add(ranks);
    return agents_.give(0, planned);
  }
  if (add_hosts(action, op)) return;
  planned.world = world_for(action, op);
  nla::Job grown = job_.now;
  if (!grown.add(planned.world)) return run_.fail("the simulator planned what is no world");
  std::swap(grown, job_.now);
  taken_ = false;
  agents_.give(0, planned);
  if (taken_ || !run_.ok()) return;
  const bool gone = excuses_.lost(action.rank) || processes_[action.rank].life == Life::over;
  if (!end_.stopped() && !excuses_.needs_no_more() && !gone) {
    return run_.fail("the root refuses a world without a reason");
  }
  job_.now = std::move(grown);
  job_.unspawned.add(ranks);
}

nla::World Spawns::world_for(const action::Spawn& action, std::uint32_t op) const {
  const RankSet ranks = run_.schedule.spawned_by(op);
  nla::World world;
  world.first = ranks.front();
  world.parent = action.rank;
  world.preput = action.request.preput;
  nla::App app;
  app.argv = action.request.programs[0].argv;
  app.ranks = ranks;
  world.apps.push_back(app);
  auto host = static_cast<std::uint32_t>(mix(run_.schedule.delay_seed, op) % job_.hosts);
  if (run_.schedule.ops[op].ref > 0) host = added_.first;
  for (std::uint64_t i = 0; i < ranks.size(); ++i) {
    while (job_.failed_hosts.contains(host) && job_.failed_hosts.size() < job_.hosts)
      host = (host + 1) % job_.hosts;
    world.map.append(host, 1);
    host = (host + 1) % job_.hosts;
  }
  return world;
}

bool Spawns::add_hosts(const action::Spawn& action, std::uint32_t op) {
  const std::uint32_t count = run_.schedule.ops[op].ref;
  if (count == 0 || !grown_.insert(op).second) return false;
  growing_ = action;
  event::AddHosts more;
  added_ = {job_.hosts, job_.hosts + count};
  for (; job_.hosts < added_.end; ++job_.hosts)
    more.hosts.push_back(cat("h", job_.hosts));
  agents_.give(0, more);
  return true;
}

void Spawns::on(std::uint32_t index, const action::HostsAdded& action) {
  if (index != 0 || !growing_ || action.nodes != added_) {
    return run_.fail(nodes_.name(index) + " tells of other hosts than were to be added");
  }
  for (std::uint32_t host = added_.first; host < added_.end && !excuses_.needs_no_more(); ++host) {
    if (nodes_.agent_on(host) != kNobody || job_.failed_hosts.contains(host)) continue;
    if (nodes_.host_had_fault(host)) continue;
    return run_.fail(cat("host ", host, " is said to have been added, and has no agent"));
  }
  asked_.push_front(*std::exchange(growing_, std::nullopt));
  run_.after(run_.random.below(300), TaskKind::plan);
}

void Spawns::on(std::uint32_t index, const action::WorldLaunched& action) {
  if (index != 0) return run_.fail(nodes_.name(index) + " concludes a spawn, only the root may");
  if (action.why.empty()) return;
  job_.unspawned.add(action.ranks);
  if (!excuses_.may_fail(action.ranks)) run_.fail("a spawn failed without a reason: " + action.why);
}

}  // namespace scela::sim
