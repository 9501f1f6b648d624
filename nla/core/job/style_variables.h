// The variables of other launchers that a rank gets (--env-style), as values: those that
// torch.distributed, JAX, Lightning, DeepSpeed, Horovod and Dask read. The start of ranks
// (nla/ranks/rank_starter.h) uses them. All functions are pure.
//
// Only the ranks with which the job began have these variables. Ranks that a rank spawns are a
// world of their own, which rank 0's node does not serve.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/placement/rank_map.h"
#include "nla/core/wire/training.h"

namespace scela::nla {

// The nodes with ranks, numbered in the order of the ranks: rank 0's node is 0. The numbers are
// dense, unlike those of the host list, which counts spares and lost hosts.
class RankNodes {
 public:
  RankNodes() = default;
  explicit RankNodes(const RankMap& map);

  // Returns the number of nodes with ranks.
  std::size_t size() const { return ranks_.size(); }
  // Returns the numbers of these nodes in the host list, in the order of this class.
  const std::vector<std::uint32_t>& nodes() const { return nodes_; }
  // Returns the place in this order of a node of the host list; size() if it has no rank.
  std::size_t place_of(std::uint32_t node) const;
  // Returns the ranks of each node as Slurm writes them: "4(x2),3".
  std::string tasks_per_node() const;
  // Returns true if all nodes have the same number of ranks.
  bool are_even() const;

 private:
  std::vector<std::uint32_t> nodes_;
  std::vector<std::uint32_t> ranks_;  // of each of nodes_
};

// The numbers of one rank, in its world and on its node.
struct RankNumbers {
  std::uint64_t rank = 0, size = 1;
  std::uint64_t local_rank = 0, local_size = 1;
  std::uint64_t node_rank = 0;  // among the ranks of all worlds on its node
  std::uint64_t universe = 1;   // the number of ranks that could run at once
  std::uint32_t node = 0;       // in the host list
  std::string_view host;        // the node's name
  std::string_view program;
};

// Says what becomes of a variable that a rank would inherit.
enum class Inherited : std::uint8_t {
  removed,   // by every style: it is of a rank of an outer launcher
  replaced,  // by the style that has it
  stays,     // if a user has set it, it keeps its value
};

// One variable of a style.
struct StyleVariable {
  std::string name;
  std::string value;
  Inherited inherited = Inherited::removed;
};

// Returns the variables by which programs under Open MPI's mpirun find their ranks.
std::vector<StyleVariable> openmpi_variables(const RankNumbers& numbers);
// Returns the variables of the job's styles for one rank. A name may occur in several styles, with
// the same value. Returns an empty list without styles.
std::vector<StyleVariable> style_variables(const Training& training, const RankNodes& nodes,
                                           const RankNumbers& numbers);
// Returns true if a rank of a job with styles must not inherit a variable of this name: it has the
// number of another launcher's rank or step (Inherited::removed).
bool is_of_outer_rank(std::string_view name);

}  // namespace scela::nla
