// Binds the calling thread to a place that thread_placement.h finds. Progress threads call it at
// their start.
#pragma once

#include <string>

#include "collectives/executors/factory.h"

namespace scela::collectives {

// Binds the calling thread to the place of entry placement.own (thread_placement.h), and names the
// thread "scela-progress". The place may lie outside of the processors that the process was given,
// but not outside of those of its control group. Returns a text for people that says where the
// thread runs, or why it is not bound.
std::string bind_this_thread(const ThreadPlacement& placement);

}  // namespace scela::collectives
