// A task list made ready to be run any number of times (task templates: offload thesis, section
// 4.3). Which messages each wait waits for is found out once, so that a run only counts along.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/core/task_list.h"
#include "common/core/result.h"

namespace scela::collectives {

class Plan {
 public:
  // What a run does one after the other. Sends that were held stand where they are enabled.
  struct Step {
    Kind kind = Kind::signal;  // no enable
    bool from_right = false;   // reduce
    int peer = -1;
    std::uint32_t task = 0;  // its number in the list
    // send, receive: the message, numbered in the order of their beginnings. Waits: the first of
    // `count` entries of waited().
    std::uint32_t message = 0;
    std::uint32_t count = 0;
    Blocks from;
    Blocks to;
  };

  // Refuses waits for what has not been begun, messages that nothing waits for, sends that are held
  // for ever, blocks that no space has, and ranks that cannot be: whatever a run could not survive.
  static Result<std::shared_ptr<const Plan>> of(TaskList list);

  const TaskList& list() const { return list_; }
  const std::vector<Step>& steps() const { return steps_; }
  // Messages that waits wait for, by number, in the order of waits.
  const std::vector<std::uint32_t>& waited() const { return waited_; }
  // By message: the step that begins it.
  const std::vector<std::uint32_t>& begun_by() const { return begun_by_; }
  std::uint32_t messages() const { return static_cast<std::uint32_t>(begun_by_.size()); }
  std::uint32_t receives() const { return receives_; }
  bool reduces() const { return reduces_; }
  // One more than the highest rank that it speaks with.
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
