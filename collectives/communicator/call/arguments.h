// Converts a call's arguments to bytes and blocks, or says what is wrong with them. Communicators
// use it. The functions have no state, so any thread may call them. A call is a Collective::Inside
// (collective.h); blocks are those of a task list's spaces (collectives/core/block_layout.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/communicator/call/collective.h"
#include "collectives/core/block_layout.h"
#include "collectives/executors/factory.h"

namespace scela::collectives {

// A call's arguments as this rank's list uses them. A call that is wrong is refused.
struct Arguments {
  Status status;                    // not ok: the call is wrong
  Refusal refusal = Refusal::none;  // kind of the error in `status`
  // For a wrong call: true if its list is known all the same, since the list does not depend on the
  // wrong argument.
  bool sure = true;
  bool in_place = false;   // Shape::in_place of this rank's list
  bool equal = true;       // all ranks' blocks have `each` bytes
  std::uint64_t each = 0;  // if equal: bytes of a block
  std::uint64_t unit = 1;  // element's bytes; blocks are cut there
  // The size in bytes by which an algorithm is chosen (Question::bytes). It is equal on all ranks;
  // without a value if not all ranks know it.
  std::optional<std::uint64_t> bytes;
  // The blocks of the operation's table (docs/design/collectives.md), before they are cut into
  // segments and parts. `all` has the sizes of scratch blocks (collectives/algorithms/scratch.h).
  BlockSizes input, output, all;
};

// Returns the arguments of a call by the rank `rank` of `ranks`. If the call is wrong, `status` has
// the first error.
Arguments arguments_of(const Collective::Inside& call, int rank, int ranks);

// Returns the error code for a call that was refused for this reason.
Code code_of(Refusal refusal);

// Returns true for bcast, reduce, gather and scatter.
bool has_root(Operation operation);
// Returns true if the operation has a reduction.
bool reduces(Operation operation);

}  // namespace scela::collectives
