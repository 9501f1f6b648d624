// What a call's arguments say in bytes, or what is wrong with them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/communicator/collective.h"
#include "collectives/core/layout.h"
#include "collectives/executors/factory.h"

namespace scela::collectives {

struct Arguments {
  CollectiveError error;            // none: the rest holds
  Refusal refusal = Refusal::none;  // of which kind the error is
  bool sure = true;                 // of an error: the sizes hold, so that the call's list is known
  bool in_place = false;            // as this rank's list has it
  bool equal = true;                // all blocks are of `each` bytes
  std::uint64_t each = 0;           // where they are: of one, in bytes
  std::uint64_t unit = 1;           // blocks are cut at multiples of it
  // What the choice may go by: the same for all ranks.
  std::optional<std::uint64_t> bytes;
  // As the operation's table has them (docs/collectives.md), not cut. `all`: what blocks of scratch
  // are like.
  BlockSizes input, output, all;
};

Arguments arguments_of(const Collective::Inside& call, int rank, int ranks);

bool has_root(Operation operation);
bool reduces(Operation operation);

}  // namespace scela::collectives
