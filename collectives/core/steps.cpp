#include "collectives/core/steps.h"

#include <cstdint>
#include <vector>

#include "common/core/text.h"

namespace scela::collectives {

namespace {

class Steps {
 public:
  void task(const Task& task);
  std::string done() {
    close();
    return text_;
  }

 private:
  void wait(const Task& task);
  void send(int peer) {
    if (!waits_.empty()) close();
    sends_.push_back(cat("send to ", peer));
  }
  void close();

  std::string text_;
  std::uint32_t step_ = 0;
  std::vector<std::string> receives_, sends_, waits_;
};

void Steps::wait(const Task& task) {
  for (std::uint32_t i = 0; i < task.count; ++i)
    receives_.push_back(cat("recv from ", task.peer));
  waits_.push_back(cat("wait (", task.count, " recv CQ) from ", task.peer));
}

void Steps::close() {
  std::string begin = cat("Step ", step_);
  for (const auto* lines : {&receives_, &sends_, &waits_}) {
    for (const std::string& line : *lines) {
      begin.resize(9, ' ');
      text_ += begin + line + '\n';
      begin.clear();
    }
  }
  if (begin.empty()) ++step_;
  receives_.clear();
  sends_.clear();
  waits_.clear();
}

void Steps::task(const Task& task) {
  switch (task.kind) {
    case Kind::send:
      if (!task.held) send(task.peer);
      return;
    case Kind::enable:
      for (std::uint32_t i = 0; i < task.count; ++i)
        send(task.peer);
      return;
    case Kind::wait_received:
      return wait(task);
    case Kind::receive:
    case Kind::wait_sent:
    case Kind::copy:
    case Kind::reduce:
    case Kind::signal:
      return;
  }
}

}  // namespace

std::string steps_text(const TaskList& list) {
  Steps steps;
  for (const Task& task : list.tasks)
    steps.task(task);
  return steps.done();
}

}  // namespace scela::collectives
