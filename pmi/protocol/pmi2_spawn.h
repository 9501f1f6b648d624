// What a spawn request of PMI-2 asks for.
#pragma once

#include <string>

#include "pmi/protocol/pmi2_wire.h"
#include "pmi/protocol/request.h"

namespace scela::pmi {

// The tuples of one program follow its subcmd; pairs before the first are for the key-value space.
// Empty, or what is wrong.
std::string read_spawn(const Pmi2Message& message, ask::Spawn& out);

}  // namespace scela::pmi
