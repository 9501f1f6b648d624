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

#include "collectives/core/layout.h"
#include "collectives/core/shape.h"
#include "collectives/core/task_list.h"
#include "common/core/result.h"

namespace scela::collectives {

struct Counts {
  // The longest chain of messages. A message follows another if a rank began its end of it after a
  // wait for the other, sent or received.
  std::uint32_t rounds = 0;
  std::uint64_t messages = 0;
  std::uint64_t blocks = 0;  // sum over all messages
  std::uint64_t bytes = 0;   // sum over all messages; 0: no layouts
  // The most peers that one rank exchanges messages with, for which it needs connections.
  std::uint32_t peers = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

// Takes the arguments of check(). The error names rank and block of a wrong result, what stands
// there and what should.
Result<Counts> execute(const Shape& shape, std::span<const TaskList> lists, std::uint32_t parts = 1,
                       std::span<const Layout> layouts = {});

}  // namespace scela::collectives
