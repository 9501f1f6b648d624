// What `scela-hca --status` asks of engines that run, and what it prints of them.
#pragma once

#include <string>

#include "common/core/result.h"

namespace scela::hca {

// Of the engine at `socket`; if that is empty, of the one that SCELA_HCA_SOCKET or the
// environment's launcher names, else of the only one of this user that runs on this node, else a
// list of all.
Result<std::string> ask_status(const std::string& socket, bool json);

}  // namespace scela::hca
