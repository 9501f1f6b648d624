// The fast steps of a short run: a plan's steps with the places of their bytes computed once, for
// all runs of that plan and layout. A BoundCall keeps them, and a FastPath carries them out.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/executors/run/plan.h"
#include "collectives/executors/run/run_buffers.h"

namespace scela::collectives {

// One action of a short run, for a step or for one message of a wait.
struct FastStep {
  Kind kind = Kind::signal;  // wait_received also receives it
  bool from_right = false;   // used by reduce
  Space from_space = Space::input;
  Space to_space = Space::input;
  int peer = -1;
  std::uint32_t message = 0;
  std::uint32_t step = 0;  // of the plan
  std::uint32_t nth = 0;   // of the wait's messages
  std::uint32_t bytes = 0;
  std::uint64_t from = 0;  // offset in its space
  std::uint64_t to = 0;
};

// Sets `steps` to the actions of a plan, in order. There are none if a message is longer than 8 KiB
// or not in one piece. Throws std::bad_alloc; `steps` must then be cleared.
void compile_fast_steps(const Plan& plan, const RunBuffers& buffers, std::vector<FastStep>& steps);

}  // namespace scela::collectives
