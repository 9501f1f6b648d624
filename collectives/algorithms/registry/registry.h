// The table of all algorithms, which the choice, the communicator and tests read. It is constant,
// so any thread may use it.
#pragma once

#include <span>
#include <string_view>

#include "collectives/core/shape.h"

namespace scela::collectives {

// Returns all algorithms (collectives/core/shape.h), grouped by operation and in the order of their
// names.
std::span<const Algorithm> algorithms();
// Returns the algorithm of this name for the operation, such as "ring"; null if there is none.
const Algorithm* find(Operation operation, std::string_view name);

}  // namespace scela::collectives
