// The shape of a call, which is all that a list depends on, and the description of an algorithm.
// Both are values; an algorithm's functions are pure, and any thread may call them.
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

// All that a list depends on besides the rank. If ranks call with equal shapes, their lists fit
// together.
struct Shape {
  Operation operation = Operation::barrier;
  int ranks = 1;
  int root = 0;                // for operations with a root
  std::uint32_t segments = 1;  // parts that each block is cut into
  std::uint32_t radix = 2;     // ports + 1, or base of a k-nomial tree
  bool in_place = false;       // input is in output (docs/design/collectives.md)
  bool commutes = true;        // the reduction is commutative
  // The number of a nomial tree's levels, nearest the leaves, that stand apart in the list. So
  // another executor can run them (collectives/algorithms/stages.h).
  std::uint32_t split = 0;
  // The node of each rank. If null, all ranks are on one node. The map lasts as long as the
  // communicator, so equal shapes of one communicator have the same map.
  std::shared_ptr<const NodeMap> nodes = nullptr;
  friend bool operator==(const Shape&, const Shape&) = default;
};

// One algorithm. It is defined in collectives/algorithms/<operation>/ and listed in
// collectives/algorithms/registry/registry.cpp.
struct Algorithm {
  std::string_view name;  // "recursive-doubling"
  Operation operation = Operation::barrier;
  bool any_order = true;      // reductions need not commute
  bool equal_blocks = false;  // unfit for v forms: sizes are unknown
  bool has_segments = false;  // the list depends on Shape::segments
  bool has_radix = false;     // the list depends on Shape::radix
  bool has_nodes = false;     // the list depends on Shape::nodes
  bool has_split = false;     // the list depends on Shape::split
  // Returns how many parts the algorithm cuts the message into by its own choice: the blocks of
  // input and output that a call without segments has (docs/design/collectives.md). If null, there
  // is one part.
  std::uint32_t (*parts)(const Shape& shape) = nullptr;
  // Returns whether the algorithm can serve the shape. If not, the shape is an error of
  // configuration, and another algorithm is chosen. If null, it serves every shape.
  bool (*fits)(const Shape& shape) = nullptr;
  // Returns the list of one rank. The shape must be one that the algorithm can serve.
  TaskList (*build)(const Shape& shape, int rank) = nullptr;
};

std::string_view name_of(Operation operation);
std::optional<Operation> operation_of(std::string_view name);

}  // namespace scela::collectives
