// From what a rank asks for (PMI spawn) to what the tree is told: which nodes start how many ranks.
//
// Values in, values out. Ranks go where slots are free first, then where the fewest ranks are for
// each slot: on the hosts of the job, whether they have an agent or get one for this.
#pragma once

#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/plan.h"
#include "nla/core/job.h"

namespace scela {

// How often a job's ranks may ask for more: each time costs every agent some memory for good.
inline constexpr std::size_t kMaxWorlds = 10'000;
// What all that was asked for may cost an agent or scela-run, about: kRankCost for each rank,
// kProgramCost for each program, and what the requests say. Smaller: jobs that spawn for long end
// early; larger: memory for a rank that spawns without end.
inline constexpr std::uint64_t kMaxSpawnCost = std::uint64_t{256} * 1024 * 1024;
inline constexpr std::uint64_t kRankCost = 3 * 1024;
inline constexpr std::uint64_t kProgramCost = 8 * 1024;
// And, where ranks speak PMIx, for each time: what libpmix keeps of a namespace.
inline constexpr std::uint64_t kNamespaceCost = 48 * 1024;

struct SpawnPlan {
  nla::World world;
  // Positions in Plan::later, ascending, of hosts that get ranks and need an agent first. If there
  // are any, the world is not to be used: plan again when they have one.
  std::vector<std::size_t> later;
};

// `plan.job` has the ranks that were asked for before. `failed`: numbers of nodes without an agent.
// Of the hints (infos) host (a,b:2, in that order and with so many ranks each before others get
// more), wdir and path count; all others are ignored, as MPI says.
// Error (usage): it cannot be, and why.
Result<SpawnPlan> plan_spawn(const Plan& plan, const RankSet& failed, Rank parent,
                             const nla::SpawnRequest& request);

// Who spawns what, and where: for -v. `plan.job` does not need to have the world yet.
std::string spawn_text(const Plan& plan, Rank asker, const nla::World& world);

}  // namespace scela
