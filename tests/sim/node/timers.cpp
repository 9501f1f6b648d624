#include "tests/sim/node/timers.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela::sim {

void Timers::on(std::uint32_t index, const nla::action::SetTimer& action) {
  Timer& timer = timers_[index][static_cast<std::size_t>(action.timer)];
  timer.armed = true;
  ++timer.generation;
  run_.after(Micros{action.delay_ms} * 1000, TaskKind::timer, index,
             static_cast<std::uint32_t>(action.timer), timer.generation);
}

void Timers::on(std::uint32_t index, const nla::action::CancelTimer& action) {
  timers_[index][static_cast<std::size_t>(action.timer)].armed = false;
}

void Timers::fire(std::uint32_t index, nla::Timer which, std::uint64_t generation) {
  Timer& timer = timers_[index][static_cast<std::size_t>(which)];
  if (!timer.armed || timer.generation != generation) return;
  timer.armed = false;
  if (which == nla::Timer::give_up && nodes_.running(index)) {
    end_.give_up();
    // Everything here ends in time if it is told to; only a start may take longer.
    const auto& starts = run_.schedule.starts;
    const bool slow = std::any_of(starts.begin(), starts.end(),
                                  [](const HostStart& start) { return start.delay >= kPatience; });
    if (!slow) {
      return run_.fail(nodes_.name(index) + " had to give up a child that nothing had happened to");
    }
  }
  agents_.give(index, nla::event::TimerFired{which});
}

void Timers::check_none(std::uint32_t index) {
  constexpr std::string_view kNames[] = {"grace", "leftover", "drain", "give_up",
                                         "limit", "adopt",    "slow"};
  static_assert(std::size(kNames) == nla::kTimers);
  for (std::size_t i = 0; i < nla::kTimers; ++i) {
    if (timers_[index][i].armed)
      run_.fail(cat(nodes_.name(index), " finishes with its timer ", kNames[i], " set"));
  }
}

}  // namespace scela::sim
