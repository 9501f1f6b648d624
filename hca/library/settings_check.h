// Variables in a program's environment that do nothing there.
#pragma once

#include "hca/core/variables.h"

namespace scela::hca::library {

// Says so on the standard error, of each variable once in a process: those that are none, and those
// of the engine that ask for something else than what it was told when it began.
void check_settings(const EngineMemory& engine);

}  // namespace scela::hca::library
