// A Plan is a task list prepared to be run any number of times (task templates: offload thesis,
// section 4.3). It has for each wait the messages that the wait is for, so that a run only counts
// along. Runs use it. A plan does not change once it is made, so that threads may share it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "collectives/core/task_list.h"
#include "common/core/result.h"

namespace scela::collectives {

// A number that no task of a list has.
inline constexpr std::uint32_t kNoTask = std::numeric_limits<std::uint32_t>::max();

class Plan {
 public:
  // One step of a run; a run takes the steps in order. A send that the list holds back stands where
  // the list enables it.
  struct Step {
    Kind kind = Kind::signal;  // never enable
    bool from_right = false;   // used by reduce
    int peer = -1;
    std::uint32_t task = 0;  // its number in the list
    // For a send or receive, the number of its message, in the order in which messages begin. For a
    // wait, the first of `count` entries of waited().
    std::uint32_t message = 0;
    std::uint32_t count = 0;
    Blocks from;
    Blocks to;
  };

  // Makes a plan. Returns an error for a list that no run could survive. Such a list waits for a
  // message that has not begun, or has a message without a wait. It may also hold a send for ever,
  // or name a block that no space has or an invalid rank.
  static Result<std::shared_ptr<const Plan>> of(TaskList list);

  const TaskList& list() const { return list_; }
  const std::vector<Step>& steps() const { return steps_; }
  // The numbers of the messages that waits are for, in the order of the waits.
  const std::vector<std::uint32_t>& waited() const { return waited_; }
  // The index of the step that begins a message, by message.
  const std::vector<std::uint32_t>& begun_by() const { return begun_by_; }
  std::uint32_t messages() const { return static_cast<std::uint32_t>(begun_by_.size()); }
  std::uint32_t receives() const { return receives_; }
  bool reduces() const { return reduces_; }
  // Returns one more than the highest rank of its peers.
  int ranks() const { return ranks_; }

 private:
  friend class PlanMaker;

  TaskList list_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> waited_;
  std::vector<std::uint32_t> begun_by_;
  std::uint32_t receives_ = 0;
  bool reduces_ = false;
  int ranks_ = 0;
};

}  // namespace scela::collectives
