// Asks running engines for their status, for `scela-hca --status`. Blocks, and is called by one
// thread.
#pragma once

#include <string>

#include "common/core/result.h"

namespace scela::hca {

// Returns the status of the engine that listens at the path `socket`. If that is empty, it asks the
// engine that SCELA_HCA_SOCKET names. Otherwise it asks the only engine of this user on this node.
// If there are several, it asks that of the environment's job, or else returns a list of all. If
// `json` is true, the text is JSON, otherwise tables. Returns an error if no engine runs there or
// none answers within 5 s.
Result<std::string> ask_status(const std::string& socket, bool json);

}  // namespace scela::hca
