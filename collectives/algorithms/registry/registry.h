// The table of all algorithms, which the choice, the communicator and tests read. It is constant,
// so any thread may use it.
#pragma once

#include <span>
#include <string_view>

#include "collectives/core/shape.h"

namespace scela::collectives {

// Returns all algorithms, grouped by operation and in the order of their names.
std::span<const Algorithm> algorithms();
// Returns null if the operation has no algorithm of that name.
const Algorithm* find(Operation operation, std::string_view name);

}  // namespace scela::collectives
