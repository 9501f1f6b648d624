// How many ranks could run at once: what ranks are told as the universe size (PMI-1
// get_universe_size, PMI-2 universeSize; MPI_UNIVERSE_SIZE), by which a manager that runs alone
// knows how many workers to spawn.
//
// Values only; pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/mapping.h"
#include "launcher/core/options.h"

namespace scela {

// "8", "system" or "infinite", the words in capitals too, as Hydra writes them.
Result<UniverseSize> parse_universe(std::string_view text);

// Slots of the nodes, as the mapping counts them: those stated, else --ppn of all programs
// together, else one a node.
std::uint32_t slots_of(const Options& options, const std::vector<MapNode>& nodes);

// As nla::Job::universe has it. `slots`: of all hosts of the job.
std::int32_t universe_size(const Options& options, std::uint32_t slots);

}  // namespace scela
