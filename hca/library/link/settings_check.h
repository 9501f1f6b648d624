// Finds environment variables SCELA_HCA_... of a program that have no effect there. EngineLink
// calls this when a device is opened; any thread may.
#pragma once

#include "hca/core/wire/variables.h"

namespace scela::hca::library {

// Writes a line on the standard error for each such variable, once in a process. These are
// variables that do not exist, and those of the engine that ask for something else than the engine
// was told when it began. `engine` is the engine's shared memory, which says that.
void check_settings(const EngineMemory& engine);

}  // namespace scela::hca::library
