// Computes the universe size that ranks get: the number of ranks that could run at once (PMI-1
// get_universe_size, PMI-2 universeSize, MPI_UNIVERSE_SIZE). A manager that runs alone learns from
// it how many workers to spawn. launcher/plan/plan.cpp and the option table use it. All functions
// are pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/map/mapping.h"
#include "launcher/core/options/options.h"

namespace scela {

// Parses "8", "system" or "infinite". The words may be in capitals too, as Hydra writes them.
Result<UniverseSize> parse_universe(std::string_view text);

// Returns the sum of the slots of the nodes, as the mapping counts them: the stated slots, else
// --ppn of all programs together, else one per node.
std::uint32_t slots_of(const Options& options, const std::vector<MapNode>& nodes);

// Returns the number of ranks that the ranks get as universe size (nla::Job::universe); -1 means
// infinite. `slots` is the sum over all hosts of the job.
std::int32_t universe_size(const Options& options, std::uint32_t slots);

}  // namespace scela
