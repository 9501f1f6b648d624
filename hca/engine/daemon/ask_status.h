// Asks running engines for their status, for `scela-hca --status`. Blocks, and is called by one
// thread.
#pragma once

#include <string>

#include "common/core/result.h"

namespace scela::hca {

// Returns the status of the engine at `socket`. If that is empty, it asks the engine that
// SCELA_HCA_SOCKET or the environment's launcher names. Otherwise it asks the only engine of this
// user on this node, or returns a list of all. An engine has 5 s to answer; then an error is
// returned. If `json` is true, the status comes as JSON, otherwise as tables.
Result<std::string> ask_status(const std::string& socket, bool json);

}  // namespace scela::hca
