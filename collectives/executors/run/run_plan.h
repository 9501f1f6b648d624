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
  // One step of a run; a run takes the steps in order. A send that the list holds back (Task::held)
  // is a step at the position at which the list enables it.
  struct Step {
    Kind kind = Kind::signal;  // never Kind::enable
    bool from_right = false;   // for reduce: as in Task
    int peer = -1;             // of a message or wait: rank in the list
    std::uint32_t task = 0;    // index of its task in the list
    // For a send or receive, the number of its message, in the order in which messages begin. For a
    // wait, the first of `count` entries of waited().
    std::uint32_t message = 0;
    std::uint32_t count = 0;
    Blocks from;
    Blocks to;
  };

  // Makes the plan of one rank's list, which it keeps. Returns an error for a list that no run
  // could complete: it waits for a message that has not begun, has a message without a wait, or
  // holds a send for ever. It also refuses a list that names a block beyond its spaces, or an
  // invalid rank. The list's messages are not compared with those of other ranks; the checker does
  // that.
  static Result<std::shared_ptr<const Plan>> of(TaskList list);

  // Returns the list of which the plan was made.
  const TaskList& list() const { return list_; }
  // Returns the steps in the order in which a run takes them.
  const std::vector<Step>& steps() const { return steps_; }
  // Returns the numbers of the messages that waits are for, in the order of the waits.
  const std::vector<std::uint32_t>& waited() const { return waited_; }
  // Returns, by number of the message, the index in steps() of the send or receive that begins it.
  const std::vector<std::uint32_t>& begun_by() const { return begun_by_; }
  // Returns how many messages the list sends and receives.
  std::uint32_t messages() const { return static_cast<std::uint32_t>(begun_by_.size()); }
  // Returns how many of them it receives.
  std::uint32_t receives() const { return receives_; }
  // Returns true if a step is a reduce, so that a call needs a Reduction.
  bool reduces() const { return reduces_; }
  // Returns one more than the highest rank with which the list exchanges messages; 0 if it has no
  // message.
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
