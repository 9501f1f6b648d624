// Virtual time: what will happen, in the order (time, order of scheduling).
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "tests/sim/sim_schedule.h"

namespace scela::sim {

enum class TaskKind : std::uint8_t {
  begin,         //
  deliver,       // a: link, b: 1 downwards, 0 upwards
  end_seen,      // a: link, b: 1 by the child, 0 by the parent
  child_begun,   // a: link
  start_agent,   // a: link
  attach,        // a: link, c: when it is given up
  child_failed,  // a: link, b: StartPhase, c: it is handed back
  child_gone,    // a: link
  kill_agent,    // a: node: its guardian ends it
  reap,          // a: node: its guardian ends what is left, c: 1 by force
  timer,         // a: node, b: Timer, c: generation
  rank_start,    // a: rank
  rank_step,     // a: rank
  rank_exit,     // a: rank
  rank_reply,    // a: rank, c: request
  pump,          // a: node: reads a pipe
  leftover_end,  // a: node, b: position
  empty,         // a: node
  measure,       // a: node
  stdin_taken,   // a: node
  stdin_more,    // the root's standard input
  shown,         // c: bytes
  decide,        // the launcher's answer to AllReady
  plan,          // and to Spawn
  fault,         // a: position in Schedule::faults
  user,          // a: position in Schedule::stimuli
  window,        // the person's terminal has another size
  timeout,       // the job has had all the time there is
};

struct Task {
  Micros at = 0;
  std::uint64_t order = 0;
  TaskKind kind = TaskKind::begin;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint64_t c = 0;
};

class TaskQueue {
 public:
  void add(Micros at, TaskKind kind, std::uint32_t a = 0, std::uint32_t b = 0,
           std::uint64_t c = 0) {
    heap_.push(Task{at, next_++, kind, a, b, c});
  }
  bool empty() const { return heap_.empty(); }
  Task take() {
    const Task task = heap_.top();
    heap_.pop();
    return task;
  }

 private:
  struct Later {
    bool operator()(const Task& x, const Task& y) const {
      return x.at != y.at ? x.at > y.at : x.order > y.order;
    }
  };
  std::priority_queue<Task, std::vector<Task>, Later> heap_;
  std::uint64_t next_ = 0;
};

}  // namespace scela::sim
