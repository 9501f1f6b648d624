// The FastSteps of a short run: a plan's steps with the places of their bytes computed once, for
// all runs of that plan and layout. A BoundCall compiles them, and a FastPath carries them out. One
// thread at a time uses them.
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

class FastSteps {
 public:
  // Computes the actions of a plan. There are none if a message is too long or not in one piece.
  // Throws std::bad_alloc; then clear() must be called.
  void compile(const Plan& plan, const RunBuffers& buffers);
  void clear() { steps_.clear(); }
  bool empty() const { return steps_.empty(); }
  const FastStep* begin() const { return steps_.data(); }
  const FastStep* end() const { return steps_.data() + steps_.size(); }

 private:
  // Sets the places of one step's bytes. Returns false if they are too many, or not in one piece.
  static bool place(const Plan::Step& step, const RunBuffers& buffers, FastStep& one);

  std::vector<FastStep> steps_;
};

}  // namespace scela::collectives
