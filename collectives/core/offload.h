// A task list as an adapter executes it (docs/collectives.md, The engine): which requests stand on
// which queue, and what a management queue releases and waits for, in order.
//
// Addresses are known when requests are posted, and so are lengths: a plan is of one call's layout.
// Nobody looks at what has come before the last task is over, so all that a list does is in it:
// messages, waits, and what is copied and computed between them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/core/layout.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

// Bytes of one message, and of one calculation: longer ones go in parts, which both ends know.
inline constexpr std::uint64_t kLongestRequest = 1u << 30;
inline constexpr std::uint64_t kLongestCalculation = 1u << 19;
// Copies that are waited for at once.
inline constexpr std::uint32_t kMostCopies = 64;

struct OffloadPlace {
  // The list's, or memory in which blocks that are no run become one.
  enum class Memory : std::uint8_t { input, output, scratch, staging };
  Memory memory = Memory::output;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  friend auto operator<=>(const OffloadPlace&, const OffloadPlace&) = default;
};

struct OffloadTask {
  enum class Kind : std::uint8_t {
    // A receive of `to`, posted before anything runs; when the list comes here, the peer is told
    // that its next message may come.
    announce,
    // A send of `from`, held until the list comes here, and then until the peer has announced.
    send,
    // As many more sends to, or messages from, the peer.
    wait_sent,
    wait_received,
    // A write of `from` to `to`, to the rank itself; and so many of those.
    copy,
    wait_copies,
    // `to` = `from` op `to`, or with `from_right` `to` op `from`: a calculation of the adapter.
    reduce,
    signal,
  };
  Kind kind = Kind::signal;
  bool from_right = false;
  int peer = -1;
  std::uint32_t count = 0;
  OffloadPlace from;
  OffloadPlace to;
  friend bool operator==(const OffloadTask&, const OffloadTask&) = default;
};

struct OffloadPlan {
  std::vector<OffloadTask> tasks;
  std::vector<int> peers;     // each once, as they come
  std::uint64_t staging = 0;  // bytes
  std::uint32_t signals = 0;
};

// Of a list that Plan::of() has taken, on blocks that the layout has.
OffloadPlan plan_offload(const TaskList& list, const Layout& layout);

// A line a task: "announce 2 out@0+8", "send 2 in@8+8", "wait received 2 1", "copy in@0+8 ->
// out@8+8", "wait copies 1", "reduce scratch@0+8 -> out@0+8" (out = scratch op out), "reduce
// out@0+8 <- ...".
std::string to_text(const OffloadPlan& plan);
std::string to_text(const OffloadTask& task);  // without the end of the line

}  // namespace scela::collectives
