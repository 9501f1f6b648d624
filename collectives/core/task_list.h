// What one rank does in one collective operation, as data: a list of tasks, in order. An algorithm
// makes it, the checker proves it, executors run it (docs/collectives.md).
//
// Lists know blocks, not bytes: which bytes block 3 of the output is, a Layout says when the
// operation is started. So one list serves every call with the same shape.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela::collectives {

// Where a block is: in what the caller gives, in what the caller gets, or in memory of the
// operation's own.
enum class Space : std::uint8_t { input, output, scratch };

// Blocks [first, first + count) of one space, which lie one behind the other.
struct Blocks {
  Space space = Space::output;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend auto operator<=>(const Blocks&, const Blocks&) = default;
};

enum class Kind : std::uint8_t {
  // Begin to send or receive; the buffer is the operation's until a wait says otherwise. The k-th
  // send of a rank to another meets the k-th receive there, and both are of the same bytes.
  send,
  receive,
  // Goes on when `count` more sends to, or receives from, that peer are complete: in the order in
  // which they were begun, counted since the list began.
  wait_sent,
  wait_received,
  // At once: the bytes of `from` to `to`; or `to` = `from` op `to`, elementwise, where `from` is
  // the left operand, or with `from_right` the right one.
  copy,
  reduce,
  // Offloaded forms only: a send that is `held` begins when it is enabled, in order, `count` of
  // those to that peer at once.
  enable,
  // The caller may know how far the list has come; the last one is its end.
  signal,
};

struct Task {
  Kind kind = Kind::signal;
  bool held = false;        // send
  bool from_right = false;  // reduce
  int peer = -1;            // a rank of the communicator
  std::uint32_t count = 0;  // wait_sent, wait_received, enable
  Blocks from;              // send, copy, reduce
  Blocks to;                // receive, copy, reduce
  friend bool operator==(const Task&, const Task&) = default;
};

struct TaskList {
  std::vector<Task> tasks;
  // How many blocks each space has, indexed by Space.
  std::uint32_t blocks[3] = {};
  friend bool operator==(const TaskList&, const TaskList&) = default;
};

// One line a task, which parse() reads back:
//   blocks in 1 out 8 scratch 0
//   copy in[0] -> out[3]
//   receive 2 -> out[2+2]          from rank 2, blocks 2 and 3
//   send 2 <- out[3]
//   send 2 <- out[3] held
//   wait received 2 1
//   wait sent 2 1
//   reduce scratch[0] -> out[0]    out = scratch op out
//   reduce out[0] <- scratch[0]    out = out op scratch
//   enable 2 1
//   signal
// A buffer of no blocks is out[0+0]. '#' and what follows it in a line are a comment. An error of
// parse() names line and word, both counted from 1.
std::string to_text(const TaskList& list);
std::string to_text(const Task& task);  // without the end of the line
Result<TaskList> parse(std::string_view text);

// "input", "output", "scratch"; in a task's text "in", "out", "scratch".
std::string_view name_of(Space space);

}  // namespace scela::collectives
