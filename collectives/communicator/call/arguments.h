// Converts a call's arguments to bytes and blocks, or says what is wrong with them. Communicators
// use it. The functions have no state, so any thread may call them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/communicator/call/collective.h"
#include "collectives/core/layout.h"
#include "collectives/executors/factory.h"

namespace scela::collectives {

struct Arguments {
  Status status;                    // ok: the rest is valid
  Refusal refusal = Refusal::none;  // the kind of the error
  bool sure = true;                 // of a wrong call: its list is known
  bool in_place = false;            // as in this rank's list
  bool equal = true;                // all blocks have `each` bytes
  std::uint64_t each = 0;           // if equal: bytes of a block
  std::uint64_t unit = 1;           // blocks are cut at multiples of it
  // The size that the choice may use, in bytes. It is equal on all ranks.
  std::optional<std::uint64_t> bytes;
  // The blocks as in the operation's table (docs/design/collectives.md), before they are cut. `all`
  // has the sizes of blocks of scratch.
  BlockSizes input, output, all;
};

// Returns the arguments as this rank's list uses them. If they are wrong, `status` says why.
Arguments arguments_of(const Collective::Inside& call, int rank, int ranks);

// Returns the code of a call that was refused for this reason.
Code code_of(Refusal refusal);

bool has_root(Operation operation);
// Returns true if the operation has a reduction.
bool reduces(Operation operation);

}  // namespace scela::collectives
