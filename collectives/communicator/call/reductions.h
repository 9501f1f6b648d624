// Makes the Reduction that a run calls (collectives/executors/run/reduction.h) from the Reducer of
// a call (scela/communicator.h). Communicators use it. Any thread may call it.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/executors/factory.h"
#include "collectives/include/scela/communicator.h"

namespace scela::collectives {

// Returns an empty string if elements of this type and size can be reduced by `op`; otherwise the
// reason why not, for an error.
std::string why_not(ReduceOp op, ElementType type, std::uint64_t element_bytes);
// Returns the reduction, for which why_not() must be empty. It points to the reducer's function,
// which must outlive it, or to data that is never freed. `element_bytes` is the size of an element.
Reduction reduction_of(const Reducer& reducer, ElementType type, std::uint64_t element_bytes);

}  // namespace scela::collectives
