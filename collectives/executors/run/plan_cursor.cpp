#include "collectives/executors/run/plan_cursor.h"

namespace scela::collectives {

std::uint32_t PlanCursor::task() const {
  return is_at_end() ? kNoTask : step().task;
}

std::vector<bool> PlanCursor::messages_under_way() const {
  const std::vector<Plan::Step>& steps = plan_->steps();
  std::vector<bool> under_way(plan_->messages(), false);
  for (std::uint32_t number = 0; number < position_; ++number) {
    const Plan::Step& step = steps[number];
    if (step.kind == Kind::send || step.kind == Kind::receive) under_way[step.message] = true;
  }
  for (std::uint32_t number = 0; number <= position_ && number < steps.size(); ++number) {
    const Plan::Step& step = steps[number];
    if (step.kind != Kind::wait_sent && step.kind != Kind::wait_received) continue;
    const std::uint32_t count = number == position_ ? waited_ : step.count;
    for (std::uint32_t i = 0; i < count; ++i)
      under_way[plan_->waited()[step.message + i]] = false;
  }
  return under_way;
}

}  // namespace scela::collectives
