// Which processors each rank of this node is bound to, and what is told of it.
//
// Decided here, on the node, when its ranks are about to start: nobody else knows its processors.
// The rules are common/core/placement.h; here are the machine, and the simulated nodes that share
// it.
#pragma once

#include <cstdint>
#include <functional>
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
  using Tell = std::function<void(std::string)>;

  // This node is the index-th of `shares` that share the machine's processors.
  Binding(std::uint32_t index, std::uint32_t shares) : index_(index), shares_(shares) {}

  // How many ranks it has room for, and 1 more: 0 says nothing. A node that lacks what is asked for
  // has room for one, so that it can say why when it is asked to start it.
  std::uint32_t room(const PlacementPolicy& placement);

  // Places of ranks that are about to start; those without one are not bound.
  // `later`: ranks that others have asked for share processors if they must. Error: the node cannot
  // give what the placement asks for.
  Result<Places> place(const Job& job, const RankSet& ranks, bool later, const Tell& tell);

 private:
  const Topology& topology();
  Result<void> place_by_policy(const PlacementPolicy& policy, const RankSet& ranks, bool later,
                               Places& places);

  std::uint32_t index_;
  std::uint32_t shares_;
  std::optional<Topology> topology_;
  std::optional<Placer> placer_;
  CpuSet chosen_;  // of ranks whose cores were chosen
};

}  // namespace scela::nla
