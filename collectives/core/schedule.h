// The lists of all ranks as one: which send meets which receive, and what each wait waits for.
//
// Lists have no branches, so all of that is known before anything runs, and running needs no time:
// a message is there when both of its ends have begun, a rank goes on when what it waits for is
// there. Whatever is possible stays possible, so that every order in which ranks are run ends in
// the same state, and who is stuck in one is stuck in all.
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

struct Message {
  int from = 0;
  int to = 0;
  std::uint32_t send = 0;     // the number of the task, in the list of `from`
  std::uint32_t receive = 0;  // in the list of `to`
};

// A task as it is carried out: waits know their messages, sends that were held stand where they are
// enabled (one for each), and enable has gone.
struct Step {
  Kind kind = Kind::signal;
  std::uint32_t task = 0;      // the number of the task that is carried out
  std::uint32_t position = 0;  // and of that which has it carried out: another one for held sends
  // send, receive: the message. Waits: these messages, in the order of their ends.
  std::uint32_t message = 0;
  std::uint32_t count = 0;
};

class Schedule {
 public:
  // Refuses peers that are none, ends without another end, waits for what has not been begun or has
  // been waited for, ends that nothing waits for, sends that are held for ever or enabled twice,
  // and tasks after the last signal. `lists` must outlive the schedule.
  static Result<Schedule> of(std::span<const TaskList> lists);

  int ranks() const { return static_cast<int>(lists_.size()); }
  const TaskList& list(int rank) const { return lists_[static_cast<std::size_t>(rank)]; }
  const Task& task(int rank, std::uint32_t number) const { return list(rank).tasks[number]; }
  const std::vector<Step>& steps(int rank) const { return steps_[static_cast<std::size_t>(rank)]; }
  const std::vector<Message>& messages() const { return messages_; }

  // Calls `stepped` for each step when it is done (of one rank: in order), and `met` when both ends
  // of a message have begun, after stepped() for the later one. Fails with the circle of those who
  // wait for each other if not all come to their ends.
  using Stepped = std::function<void(int rank, const Step& step)>;
  using Met = std::function<void(std::uint32_t message)>;
  Result<void> run(const Stepped& stepped, const Met& met) const;

 private:
  friend class ScheduleMaker;
  Error circle_from(const std::vector<std::uint32_t>& reached, int stuck) const;

  std::span<const TaskList> lists_;
  std::vector<std::vector<Step>> steps_;  // by rank
  std::vector<Message> messages_;         // those from one rank to another together, in order
};

// "rank 3, task 5 'send 2 <- out[0]'": tasks are counted from 0. `why` says what is wrong with it.
Error task_error(int rank, std::uint32_t number, const Task& task, std::string why);

}  // namespace scela::collectives
