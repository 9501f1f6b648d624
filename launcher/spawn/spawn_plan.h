// Plans a PMI spawn: decides which nodes start how many of the ranks that a rank asks for.
// HostExpansion and Spawning use it.
//
// All functions compute values from values and may be called from any thread. Ranks go to free
// slots first, and then to the hosts with the fewest ranks per slot. They run on hosts of the job,
// which may have an agent or get one for this spawn.
#pragma once

#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/plan/plan.h"
#include "nla/core/wire/job.h"

namespace scela {

// Maximum number of spawns in a job. Each spawn permanently costs every agent some memory.
inline constexpr std::size_t kMaxWorlds = 10'000;
// Approximate maximum number of bytes that all spawns of a job may cost an agent or scela-run. The
// cost is kRankCost per rank, kProgramCost per program, and the bytes of the requests. With a
// smaller value, jobs that spawn for a long time end early. With a larger one, a rank that spawns
// without end takes more memory.
inline constexpr std::uint64_t kMaxSpawnCost = std::uint64_t{256} * 1024 * 1024;
inline constexpr std::uint64_t kRankCost = 3 * 1024;
inline constexpr std::uint64_t kProgramCost = 8 * 1024;
// Additional cost of each spawn if the ranks use PMIx: the memory of libpmix for one namespace.
inline constexpr std::uint64_t kNamespaceCost = 48 * 1024;

// The result of plan_spawn().
struct SpawnPlan {
  // The spawned ranks: their programs, and the nodes that they run on.
  nla::World world;
  // Ascending positions in Plan::later of the hosts that get ranks and need an agent first. If
  // there are any, `world` must not be used: the caller plans again when these hosts have an agent.
  std::vector<std::size_t> later;
};

// Plans one spawn, without changing the plan. `plan.job` has the ranks of all earlier spawns.
// `failed` has the numbers of the nodes without an agent. `parent` is the rank that asks. The hints
// (infos) host, wdir and path are used; as MPI says, all others are ignored. host is a list such as
// a,b:2: the hosts in order, each with that many ranks before any of them gets more. Returns an
// error (kind usage) with the reason if the spawn is impossible.
Result<SpawnPlan> plan_spawn(const Plan& plan, const RankSet& failed, Rank parent,
                             const nla::SpawnRequest& request);

// Returns a line for -v: which rank (`asker`) spawns which programs, and on which hosts. `plan.job`
// need not contain the world yet.
std::string spawn_text(const Plan& plan, Rank asker, const nla::World& world);

}  // namespace scela
