// An operation of all ranks of the job, as a protocol asks for it and is answered.
//
// Values only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/core/chunk.h"
#include "common/core/rank_set.h"

namespace scela::pmi {

enum class Operation : std::uint8_t {
  barrier,
  leave,  // a barrier too, told apart from the other: nobody asks for anything after it
  gather,
  broadcast,
  allgather,
  scatter,
  alltoall
};

// All ranks must ask for the same operation with the same root.
//   parts: barrier, leave: none. gather, allgather: one, the asker's. broadcast: one, root only.
//   scatter: one per rank, root only. alltoall: one per rank.
struct Collective {
  Operation operation = Operation::barrier;
  Rank root = 0;
  std::vector<Chunk> parts;
};

struct Collected {
  enum class Outcome : std::uint8_t {
    done,
    disagreed,  // the ranks asked for different things; nobody gets anything
    failed,     // some rank or node is gone
  };
  Outcome outcome = Outcome::done;
  std::string why{};  // unless done, for a person
  // gather (root), allgather, alltoall: one per rank. broadcast, scatter: one.
  std::vector<Chunk> parts{};
};

}  // namespace scela::pmi
