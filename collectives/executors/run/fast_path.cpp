#include "collectives/executors/run/fast_path.h"

#include <cstring>
#include <new>
#include <vector>

namespace scela::collectives {

// The messages of one peer are waited for in the order in which their receives begin, so that each
// gets its own.
[[gnu::always_inline]] inline bool FastPath::run_steps(Stop& stop) {
  const RunBuffers& buffers = call_.buffers();
  RunMessages& messages = messages_;
  for (const FastStep& one : call_.fast_steps()) {
    stop.at = &one;
    const std::byte* const from = buffers.space(one.from_space) + one.from;
    std::byte* const to = buffers.space(one.to_space) + one.to;
    switch (one.kind) {
      case Kind::send:
        messages.send_piece(one.message, one.peer, {from, one.bytes});
        break;
      case Kind::wait_sent:
        if (messages.is_sent(one.message, stop.outcome)) break;
        return false;
      case Kind::wait_received:
        if (messages.receive_piece(one.message, one.peer, {to, one.bytes}, stop.outcome)) break;
        return false;
      case Kind::copy:
        if (one.bytes != 0 && from != to) std::memmove(to, from, one.bytes);
        break;
      case Kind::reduce: {
        const Reduction& with = call_.call().reduction;
        if (one.bytes != 0)
          with.combine(with.state, one.from_right ? to : from, one.from_right ? from : to, to,
                       one.bytes / with.element_bytes);
        break;
      }
      case Kind::signal:
        signals_.fetch_add(1, std::memory_order_release);
        break;
      case Kind::receive:  // with its wait
      case Kind::enable:   // plans have none
        break;
    }
  }
  return true;
}

bool FastPath::run() {
  Stop stop;
  stop.at = call_.fast_steps().data();
  try {
    if (run_steps(stop)) return true;
  } catch (const std::bad_alloc&) {
    move_cursor(*stop.at);
    throw;
  }
  hand_over(stop);
  return false;
}

// No receive is under way, because each begins only when it is waited for.
void FastPath::move_cursor(const FastStep& one) {
  cursor_.move_to(one.step, one.nth);
  const std::vector<Plan::Step>& steps = call_.plan()->steps();
  for (std::uint32_t number = 0; number < one.step; ++number)
    if (steps[number].kind == Kind::receive) messages_.set_over(steps[number].message);
}

void FastPath::hand_over(const Stop& stop) {
  move_cursor(*stop.at);
  if (stop.outcome.over) {
    cursor_.pass_message();
    messages_.complete(stop.at->message, stop.outcome);
  }
  const std::vector<bool> under_way = cursor_.messages_under_way();
  const std::vector<Plan::Step>& steps = call_.plan()->steps();
  for (std::uint32_t number = 0; number < stop.at->step; ++number) {
    const Plan::Step& step = steps[number];
    if (step.kind == Kind::receive && under_way[step.message]) messages_.receive(step);
  }
}

}  // namespace scela::collectives
