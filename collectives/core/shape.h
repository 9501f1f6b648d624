// What an algorithm is asked for, and what it is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "collectives/core/node_map.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

enum class Operation : std::uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter,
  scan,
  exscan,
};

// All that a list depends on besides the rank. Ranks that call with equal shapes have lists that
// fit together.
struct Shape {
  Operation operation = Operation::barrier;
  int ranks = 1;
  int root = 0;                // where there is one
  std::uint32_t segments = 1;  // each block of the operation is cut into so many
  std::uint32_t radix = 2;  // ports + 1, or children of a tree; algorithms that have none ignore it
  bool in_place = false;    // the input stands in the output (per operation: docs/collectives.md)
  bool commutes = true;     // the reduction
  // Of a nomial tree's levels, so many nearest the leaves stand apart in the list, so that somebody
  // else can run them (algorithms/stages.h).
  std::uint32_t split = 0;
  // Which node each rank is on; none: all ranks are of one node. It lasts as long as the
  // communicator, so shapes of one communicator that are equal have the same one.
  std::shared_ptr<const NodeMap> nodes = nullptr;
  friend bool operator==(const Shape&, const Shape&) = default;
};

// One algorithm: of a file in collectives/algorithms/<operation>/, listed in
// algorithms/algorithms.h.
struct Algorithm {
  std::string_view name;  // "recursive-doubling"
  Operation operation = Operation::barrier;
  bool any_order = true;  // also for reductions that do not commute
  bool equal_blocks =
      false;  // not for the v forms: ranks handle blocks whose sizes they do not know
  bool has_segments = false;  // segments > 1 makes another list
  bool has_radix = false;
  bool has_nodes = false;  // where ranks are makes another list
  bool has_split = false;
  // Blocks of input and output that one segment-less call has (docs/collectives.md), where they are
  // the algorithm's own choice: how many parts the message is cut into. 0: one.
  std::uint32_t (*parts)(const Shape& shape) = nullptr;
  // Whether it can: an error of configuration otherwise, and another is chosen.
  bool (*fits)(const Shape& shape) = nullptr;
  TaskList (*build)(const Shape& shape, int rank) = nullptr;
};

std::string_view name_of(Operation operation);
std::optional<Operation> operation_of(std::string_view name);

}  // namespace scela::collectives
