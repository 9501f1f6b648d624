// The shape of a call, which is all that a list depends on besides the rank, and the description of
// an algorithm. Algorithms, the choice, the communicator and all checks of lists use them. Both are
// values; an algorithm's functions are pure, and any thread may call them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "collectives/core/node_map.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

// The collective operations, with MPI's meaning. A v form counts as its operation without v, and
// reduce_scatter is MPI_Reduce_scatter and MPI_Reduce_scatter_block.
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

// All that a list depends on besides the rank. If all ranks of a communicator use equal shapes,
// their lists fit together.
struct Shape {
  Operation operation = Operation::barrier;
  int ranks = 1;
  int root = 0;                // rank; for operations with a root
  std::uint32_t segments = 1;  // parts of each block, sent one by one
  std::uint32_t radix = 2;     // k-nomial base, or messages at once + 1
  bool in_place = false;       // input is in output (docs/design/collectives.md)
  bool commutes = true;        // the reduction is commutative
  // For nomial trees: this many levels of the tree, those nearest the leaves, are separated from
  // the others by a signal in the list, so that another executor can run them
  // (collectives/algorithms/boundary.h). 0: the list is in one piece.
  std::uint32_t split = 0;
  // The node of each rank. If null, all ranks are on one node. The map lasts as long as the
  // communicator, so equal shapes of one communicator have the same map.
  std::shared_ptr<const NodeMap> nodes = nullptr;
  friend bool operator==(const Shape&, const Shape&) = default;
};

// One algorithm for one operation. It is defined in collectives/algorithms/<operation>/ and listed
// in collectives/algorithms/registry/registry.cpp.
struct Algorithm {
  std::string_view name;  // unique in the operation
  Operation operation = Operation::barrier;
  bool any_order = true;      // reductions need not commute
  bool equal_blocks = false;  // unfit for v forms: sizes are unknown
  bool has_segments = false;  // the list depends on Shape::segments
  bool has_radix = false;     // the list depends on Shape::radix
  bool has_nodes = false;     // the list depends on Shape::nodes
  bool has_split = false;     // the list depends on Shape::split
  // Returns how many parts the algorithm cuts the message into by its own choice. A block of the
  // operation then is that many blocks of the list, for each segment (docs/design/collectives.md).
  // If null, there is one part.
  std::uint32_t (*parts)(const Shape& shape) = nullptr;
  // Returns true if the algorithm can serve the shape. If not, another algorithm must be chosen. If
  // null, it serves every shape.
  bool (*fits)(const Shape& shape) = nullptr;
  // Returns the list of the rank `rank`. The shape must be one that the algorithm can serve.
  TaskList (*build)(const Shape& shape, int rank) = nullptr;
};

// Returns the operation's name as above, such as "reduce_scatter".
std::string_view name_of(Operation operation);
// Returns the operation with this name, or std::nullopt if there is none.
std::optional<Operation> operation_of(std::string_view name);

}  // namespace scela::collectives
