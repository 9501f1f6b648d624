// Binds the thread that calls.
#pragma once

#include <string>

#include "collectives/executors/factory.h"

namespace scela::collectives {

// To the place that placement.h finds in the machine, which may be outside of the processors that
// the process was given, but not of those that its control group has. What was done, for people.
std::string bind_this_thread(const ThreadPlacement& placement);

}  // namespace scela::collectives
