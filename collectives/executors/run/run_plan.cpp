#include "collectives/executors/run/run_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/core/text.h"

namespace scela::collectives {

// Makes a plan in one pass over the list. It counts, for each peer and direction, the messages that
// have begun, are held and are waited for.
class PlanMaker {
 public:
  explicit PlanMaker(TaskList list) { plan_.list_ = std::move(list); }

  Result<std::shared_ptr<const Plan>> made() {
    plan_.steps_.reserve(plan_.list_.tasks.size());
    for (std::uint32_t number = 0; number < plan_.list_.tasks.size() && !error_; ++number)
      take(number);
    for (const auto& [end, known] : ends_) {
      if (known.waited < known.begun.size())
        refuse(plan_.steps_[plan_.begun_by_[known.begun[known.waited]]].task,
               "nothing waits for it");
      if (known.enabled < known.held.size()) refuse(known.held[known.enabled], "is held for ever");
    }
    if (error_) return fail(std::move(*error_));
    return std::make_shared<const Plan>(std::move(plan_));
  }

 private:
  struct End {
    std::vector<std::uint32_t> begun;  // messages
    std::size_t waited = 0;
    std::vector<std::uint32_t> held;  // tasks
    std::size_t enabled = 0;
  };

  void take(std::uint32_t number) {
    const Task& task = plan_.list_.tasks[number];
    switch (task.kind) {
      case Kind::send:
        if (!within(number, task.from) || !is_rank(number, task.peer)) return;
        if (task.held)
          ends_[{task.peer, Kind::send}].held.push_back(number);
        else
          begin(number);
        return;
      case Kind::receive:
        if (!within(number, task.to) || !is_rank(number, task.peer)) return;
        ++plan_.receives_;
        begin(number);
        return;
      case Kind::wait_sent:
      case Kind::wait_received:
        wait(number);
        return;
      case Kind::enable:
        enable(number);
        return;
      case Kind::copy:
      case Kind::reduce:
        if (!within(number, task.from) || !within(number, task.to)) return;
        plan_.reduces_ = plan_.reduces_ || task.kind == Kind::reduce;
        add(number);
        return;
      case Kind::signal:
        add(number);
        return;
    }
  }

  Plan::Step& add(std::uint32_t number) {
    const Task& task = plan_.list_.tasks[number];
    Plan::Step step;
    step.kind = task.kind;
    step.from_right = task.from_right;
    step.peer = task.peer;
    step.task = number;
    step.from = task.from;
    step.to = task.to;
    plan_.steps_.push_back(step);
    return plan_.steps_.back();
  }

  void begin(std::uint32_t number) {
    const Task& task = plan_.list_.tasks[number];
    const auto message = static_cast<std::uint32_t>(plan_.begun_by_.size());
    plan_.begun_by_.push_back(static_cast<std::uint32_t>(plan_.steps_.size()));
    add(number).message = message;
    ends_[{task.peer, task.kind}].begun.push_back(message);
    plan_.ranks_ = std::max(plan_.ranks_, task.peer + 1);
  }

  void enable(std::uint32_t number) {
    const Task& task = plan_.list_.tasks[number];
    End& end = ends_[{task.peer, Kind::send}];
    if (task.count > end.held.size() - end.enabled) {
      refuse(number, cat("only ", end.held.size() - end.enabled, " are held"));
      return;
    }
    for (std::uint32_t i = 0; i < task.count; ++i)
      begin(end.held[end.enabled++]);
  }

  void wait(std::uint32_t number) {
    const Task& task = plan_.list_.tasks[number];
    const Kind kind = task.kind == Kind::wait_sent ? Kind::send : Kind::receive;
    End& end = ends_[{task.peer, kind}];
    if (task.count > end.begun.size() - end.waited) {
      refuse(number, cat("only ", end.begun.size() - end.waited, " have begun"));
      return;
    }
    Plan::Step& step = add(number);
    step.message = static_cast<std::uint32_t>(plan_.waited_.size());
    step.count = task.count;
    for (std::uint32_t i = 0; i < task.count; ++i)
      plan_.waited_.push_back(end.begun[end.waited++]);
  }

  bool within(std::uint32_t number, const Blocks& blocks) {
    const std::uint32_t has = plan_.list_.blocks[static_cast<std::size_t>(blocks.space)];
    if (blocks.count == 0 || (blocks.first < has && blocks.count <= has - blocks.first))
      return true;
    refuse(number, cat("the ", name_of(blocks.space), " has ", has, " blocks"));
    return false;
  }
  bool is_rank(std::uint32_t number, int peer) {
    if (peer >= 0) return true;
    refuse(number, "there is no such rank");
    return false;
  }
  void refuse(std::uint32_t number, std::string why) {
    if (error_) return;
    error_ =
        Error{ErrorKind::internal, "make a task list ready to be run",
              cat("task ", number, " '", to_text(plan_.list_.tasks[number]), "'"), std::move(why),
              "check() in collectives/core/analysis/checker.h says what is wrong with the lists of "
              "all ranks"};
  }

  Plan plan_;
  std::map<std::pair<int, Kind>, End> ends_;  // by peer, and send or receive
  std::optional<Error> error_;
};

Result<std::shared_ptr<const Plan>> Plan::of(TaskList list) {
  return PlanMaker(std::move(list)).made();
}

}  // namespace scela::collectives
