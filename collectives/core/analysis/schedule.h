// The lists of all ranks as one schedule: which send meets which receive, and which messages each
// wait waits for. The checker, the symbolic executor and the LogGP simulator use it.
//
// Lists have no branches, so all of that is known before anything runs, and running needs no time.
// A message is there when both of its ends have begun. A rank goes on when what it waits for is
// there. A step that is possible stays possible. So every order in which ranks are run ends in the
// same state. A rank that is stuck in one order is stuck in all.
//
// A schedule does not change after it is made, and any thread may read it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/core/task_list.h"
#include "common/core/result.h"

namespace scela::collectives {

// A message: a send of one list and the receive that it meets.
struct Message {
  int from = 0;
  int to = 0;
  std::uint32_t send = 0;     // the task's number in the list of `from`
  std::uint32_t receive = 0;  // the task's number in the list of `to`
};

// A task as it is carried out. A wait knows its messages. A held send (Task::held) is a step at the
// position at which it is enabled; enable tasks are no steps.
struct Step {
  Kind kind = Kind::signal;
  std::uint32_t task = 0;      // index of the task in the list
  std::uint32_t position = 0;  // as `task`; held send: its enable's
  // For send and receive, the message. For waits, the first of `count` messages, in the order of
  // their ends.
  std::uint32_t message = 0;
  std::uint32_t count = 0;
};

// The schedule of the lists of all ranks. of() makes it.
class Schedule {
 public:
  // Makes the schedule of these lists, one for each rank. `lists` must outlive the schedule.
  // Returns an error for peers that do not exist, and for a send without a receive or a receive
  // without a send. Also for waits for messages that have not begun or were waited for before, and
  // for messages that no wait covers. Also for sends that are held for ever or enabled twice, and
  // for tasks after the last signal.
  static Result<Schedule> of(std::span<const TaskList> lists);

  // Returns the number of ranks, which is the number of lists.
  int ranks() const { return static_cast<int>(lists_.size()); }
  // Returns the list of a rank, and task() the task with the index `number` of it.
  const TaskList& list(int rank) const { return lists_[static_cast<std::size_t>(rank)]; }
  const Task& task(int rank, std::uint32_t number) const { return list(rank).tasks[number]; }
  // Returns the steps of a rank, in the order in which they are carried out.
  const std::vector<Step>& steps(int rank) const { return steps_[static_cast<std::size_t>(rank)]; }
  // Returns all messages, grouped by sender and receiver, and in order within a group.
  const std::vector<Message>& messages() const { return messages_; }

  // Runs the lists of all ranks without data. Calls `stepped` for each step when it is done; the
  // steps of one rank come in order. Calls `met` with the index of a message when both of its ends
  // have begun, after `stepped` for the later one. Returns an error with the circle of ranks that
  // wait for each other if not all lists come to their ends.
  using Stepped = std::function<void(int rank, const Step& step)>;
  using Met = std::function<void(std::uint32_t message)>;
  Result<void> run(const Stepped& stepped, const Met& met) const;

 private:
  friend class ScheduleMaker;
  // Returns the error that names a circle of ranks that wait for each other. `reached` is the
  // number of the step at which each rank stands. `stuck` is a rank that has not come to its end.
  Error circle_from(const std::vector<std::uint32_t>& reached, int stuck) const;

  std::span<const TaskList> lists_;
  std::vector<std::vector<Step>> steps_;  // indexed by rank
  std::vector<Message> messages_;         // grouped by sender and receiver, in order
};

// Returns the error for a task of a list, such as "rank 3, task 5 'send 2 <- out[0]'". `number` is
// its index. `why` says what is wrong with it.
Error task_error(int rank, std::uint32_t number, const Task& task, std::string why);

}  // namespace scela::collectives
