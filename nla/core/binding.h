// Which processors each rank of a node is bound to, and what is told of it.
//
// Its agent decides when ranks are about to start; scela-run, told of the node's topology, comes to
// the same by the same means where it is to show it before. The rules are common/core/placement.h;
// here is what a job chooses and what earlier ranks have taken.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/core/placement.h"
#include "common/core/rank_set.h"
#include "common/core/result.h"
#include "nla/core/job.h"

namespace scela::nla {

class Binding {
 public:
  using Places = std::map<Rank, CpuSet>;

  // `topology`: what the node may use, its share of a machine that simulated nodes share.
  explicit Binding(Topology topology) : topology_(std::move(topology)) {}

  // Places of ranks that are about to start; those without one are not bound.
  // `later`: ranks that others have asked for share processors if they must. Error: the node cannot
  // give what the placement asks for.
  Result<Places> place(const Job& job, const RankSet& ranks, bool later);

  // A line for each of those ranks.
  std::vector<std::string> report(const RankSet& ranks, const Places& places) const;

  const Topology& topology() const { return topology_; }

 private:
  Result<void> place_by_policy(const PlacementPolicy& policy, const RankSet& ranks, bool later,
                               Places& places);

  Topology topology_;
  std::optional<Placer> placer_;
  CpuSet chosen_;  // of ranks whose cores were chosen
};

}  // namespace scela::nla
