// Binds the calling thread to a place that placement.h finds. Progress threads call it at their
// start.
#pragma once

#include <string>

#include "collectives/executors/factory.h"

namespace scela::collectives {

// Binds the calling thread to its place in the machine. That may be outside of the processors that
// the process was given, but not of those of its control group. Returns text for people that says
// what was done.
std::string bind_this_thread(const ThreadPlacement& placement);

}  // namespace scela::collectives
