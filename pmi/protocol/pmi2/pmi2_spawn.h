// Parses a spawn request of PMI-2, for Pmi2Session. A pure function, for any thread.
#pragma once

#include <string>

#include "pmi/protocol/pmi2/pmi2_wire.h"
#include "pmi/protocol/session_request.h"

namespace scela::pmi {

// Adds the programs and preput pairs of `message`, a spawn request, to `out`. The tuples of one
// program follow its subcmd; pairs before the first subcmd are for the key-value space. Returns an
// empty string, or what is wrong with the message.
std::string read_spawn(const Pmi2Message& message, ask::SpawnRequest& out);

}  // namespace scela::pmi
