// Reductions as runs call them, of what a call names.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/executors/factory.h"
#include "collectives/include/scela/communicator.h"

namespace scela::collectives {

// Empty: elements of this type can be reduced so.
std::string why_not(ReduceOp op, ElementType type, std::uint64_t element_bytes);
// Of one that can be. What it points to is the reducer's, or for ever.
Reduction reduction_of(const Reducer& reducer, ElementType type, std::uint64_t element_bytes);

}  // namespace scela::collectives
