// All algorithms there are.
#pragma once

#include <span>
#include <string_view>

#include "collectives/core/shape.h"

namespace scela::collectives {

// In the order of operation and name.
std::span<const Algorithm> algorithms();
// Null: there is none of that name for that operation.
const Algorithm* find(Operation operation, std::string_view name);

}  // namespace scela::collectives
