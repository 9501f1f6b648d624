// An operation of all ranks of the job, as a PMGR session asks for it, and its result. The sessions
// (pmgr.h), their servers and JobServices use it.
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
  leave,  // a barrier, the last operation of a rank
  gather,
  broadcast,
  allgather,
  scatter,
  alltoall
};

// All ranks must ask for the same operation with the same root. The parts that a rank gives:
//   barrier, leave: none. gather, allgather: one, its own. broadcast: one, by the root only.
//   scatter: one per rank, by the root only. alltoall: one per rank.
struct Collective {
  Operation operation = Operation::barrier;
  Rank root = 0;
  std::vector<Chunk> parts;
};

struct Collected {
  enum class Outcome : std::uint8_t {
    done,
    disagreed,  // the requests of ranks differ; no data
    failed,     // some rank or node is gone
  };
  Outcome outcome = Outcome::done;
  std::string why{};  // for the user, unless done
  // The parts that a rank receives. gather (root), allgather, alltoall: one per rank. broadcast,
  // scatter: one.
  std::vector<Chunk> parts{};
};

}  // namespace scela::pmi
