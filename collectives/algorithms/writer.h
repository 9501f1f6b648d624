// Writes a task list, task by task, and remembers which sends no wait covers yet. All algorithms
// use it. A writer belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <map>

#include "collectives/core/task_list.h"

namespace scela::collectives {

// Return `count` blocks of a space from the block `first` on.
inline Blocks input(std::uint32_t first, std::uint32_t count) {
  return {Space::input, first, count};
}
inline Blocks output(std::uint32_t first, std::uint32_t count) {
  return {Space::output, first, count};
}
inline Blocks scratch(std::uint32_t first, std::uint32_t count) {
  return {Space::scratch, first, count};
}
// Returns no blocks, for a message of no bytes that only signals its receiver.
inline Blocks nothing() {
  return {Space::output, 0, 0};
}

class Writer {
 public:
  // Each function up to reduce_right() appends a task. Kind (collectives/core/task_list.h) says
  // what a task does. `peer` is a rank.
  //
  // Appends the beginning of a send of these blocks; a wait must follow.
  void send(int peer, Blocks from);
  // Appends the beginning of a receive into these blocks; a wait must follow.
  void receive(int peer, Blocks to);
  // Appends a wait for `count` more messages of that peer.
  void wait_received(int peer, std::uint32_t count);
  // Appends a wait for all sends to that peer that no wait covers yet.
  void wait_sent(int peer);
  // Appends such waits for all peers.
  void wait_all_sent();
  // Appends a signal: the caller sees when the run has passed it.
  void signal();
  // Appends a copy of the bytes of `from` to `to`.
  void copy(Blocks from, Blocks to);
  // Appends a reduction: `to` = `left` op `to`.
  void reduce_left(Blocks left, Blocks to);
  // Appends a reduction: `to` = `to` op `right`.
  void reduce_right(Blocks right, Blocks to);

  // Returns the complete list, and empties the writer. Appends waits for all sends that no wait
  // covers, and a signal at the end. The arguments are the numbers of blocks of each space.
  TaskList done(std::uint32_t input, std::uint32_t output, std::uint32_t scratch);

 private:
  TaskList list_;
  std::map<int, std::uint32_t> sending_;  // number of sends without a wait, by peer
};

// Receives segments 0, 1, ... from one peer, each into `where(segment)`. Two receives are posted at
// a time, so that while the list waits for one segment, the next is under way.
template <typename Where>
class Incoming {
 public:
  // The writer must outlive the object. Appends the first two receives.
  Incoming(Writer& list, int peer, std::uint32_t segments, Where where)
      : list_(list), peer_(peer), segments_(segments), where_(where) {
    post();
    post();
  }
  // Appends a wait for the next segment, and a further receive if segments are left. It is called
  // once for each segment.
  void next() {
    list_.wait_received(peer_, 1);
    post();
  }

 private:
  // Appends the receive of the next segment, if there is one.
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
