// The fast steps of a short run: a plan's steps with the places of their bytes computed once, for
// all runs of that plan and layout. A BoundCall keeps them, and a FastPath carries them out.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/executors/run/run_buffers.h"
#include "collectives/executors/run/run_plan.h"

namespace scela::collectives {

// One action of a short run, for a step of the plan or for one message of a wait. A receive has no
// action of its own: its wait receives it.
struct FastStep {
  Kind kind = Kind::signal;  // a wait_received also receives it
  bool from_right = false;   // for reduce: as in Task
  Space from_space = Space::input;
  Space to_space = Space::input;
  int peer = -1;              // of the message, as the list numbers it
  std::uint32_t message = 0;  // its number in the plan
  std::uint32_t step = 0;     // index of the step in the plan
  std::uint32_t nth = 0;      // index among the wait's messages
  std::uint32_t bytes = 0;    // to send, receive, copy or reduce
  std::uint64_t from = 0;     // offset in from_space, in bytes
  std::uint64_t to = 0;       // offset in to_space, in bytes
};

// Sets `steps` to the actions of a plan, in order. Leaves it empty if a message, copy or reduction
// has more than 8 KiB or is not in one piece; the run is not short then. `buffers` must have the
// layout. Throws std::bad_alloc; `steps` must then be cleared.
void compile_fast_steps(const Plan& plan, const RunBuffers& buffers, std::vector<FastStep>& steps);

}  // namespace scela::collectives
