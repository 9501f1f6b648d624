// Writes a task list, task by task, and remembers which sends nobody has waited for.
#pragma once

#include <cstdint>
#include <map>

#include "collectives/core/task_list.h"

namespace scela::collectives {

inline Blocks input(std::uint32_t first, std::uint32_t count) {
  return {Space::input, first, count};
}
inline Blocks output(std::uint32_t first, std::uint32_t count) {
  return {Space::output, first, count};
}
inline Blocks scratch(std::uint32_t first, std::uint32_t count) {
  return {Space::scratch, first, count};
}
// A message of no bytes, which says only that it came.
inline Blocks nothing() {
  return {Space::output, 0, 0};
}

class Writer {
 public:
  void send(int peer, Blocks from);
  void receive(int peer, Blocks to);
  void wait_received(int peer, std::uint32_t count);
  // For all sends to that peer, or to all, that have not been waited for.
  void wait_sent(int peer);
  void wait_all_sent();
  // The list has come this far.
  void signal();
  void copy(Blocks from, Blocks to);
  // `to` = `left` op `to`
  void reduce_left(Blocks left, Blocks to);
  // `to` = `to` op `right`
  void reduce_right(Blocks right, Blocks to);

  // The list, complete: all sends are waited for, and a signal says that it has ended.
  TaskList done(std::uint32_t input, std::uint32_t output, std::uint32_t scratch);

 private:
  TaskList list_;
  std::map<int, std::uint32_t> sending_;  // by peer
};

// Segments 0, 1, ... that come from one peer, `where(segment)` each: while one is waited for, the
// next is on its way.
template <typename Where>
class Incoming {
 public:
  Incoming(Writer& list, int peer, std::uint32_t segments, Where where)
      : list_(list), peer_(peer), segments_(segments), where_(where) {
    post();
    post();
  }
  // Waits for the next.
  void next() {
    list_.wait_received(peer_, 1);
    post();
  }

 private:
  void post() {
    if (posted_ == segments_) return;
    list_.receive(peer_, where_(posted_));
    ++posted_;
  }

  Writer& list_;
  int peer_;
  std::uint32_t segments_;
  Where where_;
  std::uint32_t posted_ = 0;
};

}  // namespace scela::collectives
