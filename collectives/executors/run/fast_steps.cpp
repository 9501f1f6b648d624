#include "collectives/executors/run/fast_steps.h"

#include <algorithm>

namespace scela::collectives {

namespace {

// Up to this length in bytes, the cost of a message is software and not its bytes.
constexpr std::uint64_t kShort = 8192;

// Sets the places of one step's bytes. Returns false if they are too many, or not in one piece.
bool place(const Plan::Step& step, const RunBuffers& buffers, FastStep& one) {
  const bool reads =
      step.kind == Kind::send || step.kind == Kind::copy || step.kind == Kind::reduce;
  const bool writes =
      step.kind == Kind::receive || step.kind == Kind::copy || step.kind == Kind::reduce;
  std::uint64_t bytes = reads || writes ? kShort + 1 : 0;
  const auto set_place = [&](const Blocks& blocks, Space& space, std::uint64_t& offset) {
    space = blocks.space;
    offset = blocks.count == 0 ? 0 : buffers.layout().of(blocks.space).offset(blocks.first);
    bytes = std::min(bytes, buffers.bytes_of(blocks));
    return buffers.is_run(blocks);
  };
  one.peer = step.peer;
  if (reads && !set_place(step.from, one.from_space, one.from)) return false;
  if (writes && !set_place(step.to, one.to_space, one.to)) return false;
  one.bytes = static_cast<std::uint32_t>(bytes);
  return bytes <= kShort;
}

}  // namespace

void compile_fast_steps(const Plan& plan, const RunBuffers& buffers, std::vector<FastStep>& steps) {
  steps.clear();
  for (std::uint32_t number = 0; number < plan.steps().size(); ++number) {
    const Plan::Step& step = plan.steps()[number];
    FastStep one;
    one.kind = step.kind;
    one.from_right = step.from_right;
    one.step = number;
    if (step.kind != Kind::wait_sent && step.kind != Kind::wait_received) {
      one.message = step.message;
      if (!place(step, buffers, one)) return steps.clear();
      if (step.kind != Kind::receive) steps.push_back(one);
      continue;
    }
    for (std::uint32_t nth = 0; nth < step.count; ++nth) {
      one.nth = nth;
      one.message = plan.waited()[step.message + nth];
      if (!place(plan.steps()[plan.begun_by()[one.message]], buffers, one)) return steps.clear();
      steps.push_back(one);
    }
  }
}

}  // namespace scela::collectives
