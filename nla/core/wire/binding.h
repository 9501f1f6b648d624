// The processors that each rank of a node is bound to, and the lines that report them.
//
// The node's agent decides when ranks are about to start. If scela-run must show the binding
// before, it is told the node's topology and computes the same places with this class. The rules
// are in common/core/placement/placement.h. This part adds what the job chooses and what earlier
// ranks have taken. A place is the set of CPUs (numbers of the operating system) on which a rank
// may run. It binds no process itself. It has no lock, and one thread at a time uses it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/core/placement/placement.h"
#include "common/core/rank_set.h"
#include "common/core/result.h"
#include "nla/core/wire/job.h"

namespace scela::nla {

// The places of all ranks of one node, in the order in which they start.
class Binding {
 public:
  // The CPUs on which each rank may run. A rank that is not bound has no entry.
  using Places = std::map<Rank, CpuSet>;

  // `topology` is what the node may use: its share, if simulated nodes share a machine.
  explicit Binding(Topology topology) : topology_(std::move(topology)) {}

  // Returns the places of `ranks`, which are about to start on this node. A rank without a place is
  // not bound. `later` says that they are ranks of a world, which other ranks asked for: they share
  // processors with earlier ranks if they must. Returns an error if the node cannot give what the
  // placement asks for. Each rank is passed once.
  Result<Places> place(const Job& job, const RankSet& ranks, bool later);

  // The NUMA domains that the memory of each rank comes from.
  using Memory = std::map<Rank, DomainSet>;
  // Returns the domains of these ranks' memory, of those of the node, if the job binds memory.
  // `places` is what place() returned. A rank without a place gets the domains of all processors
  // that the node may use. Returns an error if no domain is known, or none has memory.
  Result<Memory> memory(const Job& job, const RankSet& ranks, const Places& places,
                        const std::vector<MemoryDomain>& machine) const;

  // Returns one line for each of these ranks that says where it runs, to print.
  std::vector<std::string> report(const RankSet& ranks, const Places& places) const;

  // Returns the topology of the constructor.
  const Topology& topology() const { return topology_; }

 private:
  // Adds to `places` those of ranks without chosen cores. The errors and `later` are those of
  // place().
  Result<void> place_by_policy(const PlacementPolicy& policy, const RankSet& ranks, bool later,
                               Places& places);

  Topology topology_;
  std::optional<Placer> placer_;
  CpuSet chosen_;  // CPUs of ranks with chosen cores
};

}  // namespace scela::nla
