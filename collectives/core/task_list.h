// The task list of one rank in one collective operation: data, carried out in order. An algorithm
// makes a list, the checker (analysis/checker.h) proves it, and executors run it
// (docs/design/collectives.md).
//
// Lists name blocks, not bytes. The bytes of an operation's buffers are cut into blocks, numbered
// from 0 in each space; a Layout (block_layout.h) says which bytes block 3 of the output is when
// the operation is started. So one list serves every call with the same shape (shape.h). Lists are
// values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela::collectives {

// The space that a block is in: what the caller gives (input), what the caller gets (output), or
// memory of the operation's own (scratch).
enum class Space : std::uint8_t { input, output, scratch };

// The blocks first, first + 1, ..., first + count - 1 of one space. They need not be contiguous in
// memory.
struct Blocks {
  Space space = Space::output;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend auto operator<=>(const Blocks&, const Blocks&) = default;
};

// The kinds of tasks.
enum class Kind : std::uint8_t {
  // Begins to send or receive. The operation owns the buffer until a wait covers the message. The
  // k-th send of a rank to another meets the k-th receive there, and both have the same length in
  // bytes.
  send,
  receive,
  // Goes on when `count` more sends to that peer, or receives from it, are complete. They are
  // counted from the start of the list, in the order in which they were begun.
  wait_sent,
  wait_received,
  // Carried out at once. A copy copies the bytes of `from` to `to`. A reduction computes `to` =
  // `from` op `to`, elementwise: `from` is the left operand, or with `from_right` the right one.
  copy,
  reduce,
  // Used in offloaded forms only: a send that is `held` begins when it is enabled. One task enables
  // `count` of the held sends to that peer, in order.
  enable,
  // Tells the caller how far the list has come. The last signal is the end of the list.
  signal,
};

// One task. Each comment names the kinds that use the member; others ignore it.
struct Task {
  Kind kind = Kind::signal;
  bool held = false;        // send: begins only when it is enabled
  bool from_right = false;  // reduce: `from` is the right operand
  int peer = -1;            // send ... wait_received, enable: the rank
  std::uint32_t count = 0;  // wait_sent, wait_received, enable
  Blocks from;              // send, copy, reduce
  Blocks to;                // receive, copy, reduce
  friend bool operator==(const Task&, const Task&) = default;
};

// The list of one rank. A list that is complete ends with a signal.
struct TaskList {
  std::vector<Task> tasks;
  // The number of blocks in each space, indexed by Space.
  std::uint32_t blocks[3] = {};
  friend bool operator==(const TaskList&, const TaskList&) = default;
};

// to_text() writes a first line with the numbers of blocks, then one line for each task. parse()
// reads them back:
//   blocks in 1 out 8 scratch 0
//   copy in[0] -> out[3]
//   receive 2 -> out[2+2]          from rank 2, blocks 2 and 3
//   send 2 <- out[3]
//   send 2 <- out[3] held
//   wait received 2 1              one more message of rank 2
//   wait sent 2 1
//   reduce scratch[0] -> out[0]    out = scratch op out
//   reduce out[0] <- scratch[0]    out = out op scratch
//   enable 2 1
//   signal
// A buffer without blocks is out[0+0]. A '#' starts a comment that ends with the line. An error of
// parse() names line and word, both counted from 1.
std::string to_text(const TaskList& list);
// Returns the line of one task, without the end of the line.
std::string to_text(const Task& task);
// Returns the list that this text describes, or an error. It does not check that the list makes
// sense.
Result<TaskList> parse(std::string_view text);

// Returns "input", "output" or "scratch". A task's text has "in", "out" and "scratch" instead.
std::string_view name_of(Space space);

}  // namespace scela::collectives
