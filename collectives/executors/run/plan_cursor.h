// A PlanCursor is the position of a run in the steps of its plan: the step that is next and, if
// that is a wait, how many of its messages are over. A Run moves it. One thread at a time uses it.
// restart() must come before all other calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/executors/run/run_plan.h"

namespace scela::collectives {

class PlanCursor {
 public:
  // Moves to the plan's first step. The plan must stay until the run is over.
  void restart(const Plan& plan) {
    plan_ = &plan;
    position_ = 0;
    waited_ = 0;
  }
  // Moves to the step with this index. If it is a wait, its first `waited` messages are over.
  void move_to(std::uint32_t position, std::uint32_t waited) {
    position_ = position;
    waited_ = waited;
  }
  // Moves behind a step that is carried out.
  void pass_step() {
    ++position_;
    waited_ = 0;
  }
  // Counts one more message that is over, of the wait that is next.
  void pass_message() { ++waited_; }

  bool is_at_begin() const { return position_ == 0; }
  bool is_at_end() const { return position_ >= plan_->steps().size(); }
  // Returns the step that is next. The cursor must not be at the end.
  const Plan::Step& step() const { return plan_->steps()[position_]; }
  // Returns the step that is next and all that follow.
  std::span<const Plan::Step> steps_left() const {
    return std::span(plan_->steps()).subspan(position_);
  }
  // Returns the number of the first message of the wait that is next which is not known to be over.
  // is_wait_over() must be false.
  std::uint32_t message() const { return plan_->waited()[step().message + waited_]; }
  // Returns true if all messages of the wait that is next are over.
  bool is_wait_over() const { return waited_ >= step().count; }
  // Returns the index in the list of the task of the step that is next. At the end, returns
  // kNoTask.
  std::uint32_t task() const;
  // Returns, by number of the message, true if it has begun and no wait has covered it yet. Throws
  // std::bad_alloc.
  std::vector<bool> messages_under_way() const;

 private:
  const Plan* plan_ = nullptr;
  std::uint32_t position_ = 0;  // index of the step that is next
  std::uint32_t waited_ = 0;    // messages of that wait that are over
};

}  // namespace scela::collectives
