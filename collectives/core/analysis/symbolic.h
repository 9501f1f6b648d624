// The symbolic executor runs the lists of all ranks on values that say what they are made of. It
// compares what each rank gets with the operation's definition. So it proves an algorithm's result
// for any number of ranks without a byte of data (docs/design/collectives.md, Proof).
//
// It knows nothing of buffers in flight and expects lists that check() has accepted. Other lists
// give an error or a wrong result, but never a crash. It keeps no state between calls, and any
// thread may call it.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/core/block_layout.h"
#include "collectives/core/shape.h"
#include "collectives/core/task_list.h"
#include "common/core/result.h"

namespace scela::collectives {

// Figures of the lists of all ranks.
struct Counts {
  // The length of the longest chain of messages. A message follows another in a chain if a rank
  // began its send or receive after a wait for the other.
  std::uint32_t rounds = 0;
  std::uint64_t messages = 0;  // of all ranks
  std::uint64_t blocks = 0;    // sum over all messages
  std::uint64_t bytes = 0;     // sum over all messages; 0: no layouts
  // The highest number of peers that a rank exchanges messages with.
  std::uint32_t peers = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

// Runs the lists, and returns their figures if each rank gets what the definition says. The
// arguments are those of check() (checker.h). The error names the rank and block of a wrong result,
// its contents and the right ones.
Result<Counts> execute(const Shape& shape, std::span<const TaskList> lists, std::uint32_t parts = 1,
                       std::span<const Layout> layouts = {});

}  // namespace scela::collectives
