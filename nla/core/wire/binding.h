// The processors that each rank of a node is bound to, and the lines that report them.
//
// The node's agent decides when ranks are about to start. If scela-run must show the binding
// before, it is told the node's topology and computes the same places with this class. The rules
// are common/core/placement.h. This part adds what the job chooses and what earlier ranks have
// taken. It has no lock, and one thread at a time uses it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/core/placement.h"
#include "common/core/rank_set.h"
#include "common/core/result.h"
#include "nla/core/wire/job.h"

namespace scela::nla {

class Binding {
 public:
  using Places = std::map<Rank, CpuSet>;

  // `topology` is what the node may use: its share, if simulated nodes share a machine.
  explicit Binding(Topology topology) : topology_(std::move(topology)) {}

  // Returns the places of ranks that are about to start. A rank without a place is not bound. If
  // `later` is true, other ranks asked for these, and they share processors if they must. Returns
  // an error if the node cannot give what the placement asks for.
  Result<Places> place(const Job& job, const RankSet& ranks, bool later);

  // Returns one line for each of these ranks.
  std::vector<std::string> report(const RankSet& ranks, const Places& places) const;

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
