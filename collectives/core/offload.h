// Offload plans: a task list as an adapter executes it (docs/design/collectives.md, The engine). A
// plan says which requests are on which queue, and what a management queue enables and waits for,
// in order. (A management queue is a queue of tasks that the adapter itself executes: they start
// requests of other queues, wait for completions, and compute.)
//
// The engine (collectives/offload) posts plans, and check_posting() proves them. Addresses and
// lengths are known when requests are posted, so a plan belongs to the layout of one call. The
// process looks at no message before the last task is over. So a plan holds all that the list does:
// messages, waits, and the copies and calculations between them. Plans are values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/core/block_layout.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

// The most bytes of one message and of one calculation. Longer ones are cut into parts of this
// length; both ends of a message know the length, so they cut alike.
inline constexpr std::uint64_t kLongestRequest = 1u << 30;
inline constexpr std::uint64_t kLongestCalculation = 1u << 19;
// A plan that has begun this many copies waits for them before it begins the next.
inline constexpr std::uint32_t kMaxCopies = 64;

// Contiguous bytes from which a task reads, or to which it writes.
struct OffloadPlace {
  // The memory that `offset` counts in: a space of the list, or staging memory. Blocks that are not
  // contiguous are packed in staging memory to send them, and unpacked from there.
  enum class Memory : std::uint8_t { input, output, scratch, staging };
  Memory memory = Memory::output;
  std::uint64_t offset = 0;  // bytes from the beginning of the memory
  std::uint64_t bytes = 0;
  friend auto operator<=>(const OffloadPlace&, const OffloadPlace&) = default;
};

// One task of the management queue, with the request that it starts.
struct OffloadTask {
  enum class Kind : std::uint8_t {
    // Receives into `to`. The receive is posted before anything runs. When the list comes here, the
    // adapter tells the peer that it may send its next message.
    announce,
    // Sends `from`. The send is posted before anything runs. It is held until the list comes here,
    // and then until the peer has announced its receive.
    send,
    // Waits until `count` more sends to the peer, or messages from it, are complete.
    wait_sent,
    wait_received,
    // A copy is an RDMA write of `from` to `to`, to the rank itself. wait_copies waits for `count`
    // of those.
    copy,
    wait_copies,
    // A calculation of the adapter: `to` = `from` op `to`, or with `from_right` `to` = `to` op
    // `from`.
    reduce,
    signal,
  };
  Kind kind = Kind::signal;
  bool from_right = false;  // reduce: `from` is the right operand
  int peer = -1;            // of a message or a wait: the list's rank
  std::uint32_t count = 0;  // wait_sent, wait_received, wait_copies
  OffloadPlace from;
  OffloadPlace to;
  friend bool operator==(const OffloadTask&, const OffloadTask&) = default;
};

// The tasks of one rank's list, in the order in which they are executed.
struct OffloadPlan {
  std::vector<OffloadTask> tasks;
  std::vector<int> peers;     // ranks, each once, in order of first use
  std::uint64_t staging = 0;  // bytes of staging memory that it needs
  std::uint32_t signals = 0;  // number of its signal tasks
};

// Returns the plan of a list that Plan::of() (collectives/executors/run/run_plan.h) has accepted.
// The layout must have all blocks that the list names.
OffloadPlan plan_offload(const TaskList& list, const Layout& layout);

// Returns one line for each task: "announce 2 out@0+8" (peer, memory@offset+bytes), "send 2
// in@8+8", "wait received 2 1", "copy in@0+8 -> out@8+8", "wait copies 1", "reduce scratch@0+8 ->
// out@0+8" (out = scratch op out), "reduce out@0+8 <- ...".
std::string to_text(const OffloadPlan& plan);
// Returns the line of one task, without the end of the line.
std::string to_text(const OffloadTask& task);

}  // namespace scela::collectives
