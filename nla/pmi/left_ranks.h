// Which ranks of the job have left: have finalized or have ended well. Only the agent of a rank's
// node knows that, and other agents ask it on demand. To report each rank to all nodes would take a
// message of each to all.
//
// RankPmi uses this part, on the shell's loop.
#pragma once

#include <functional>

#include "nla/core/tree/actions.h"
#include "nla/core/tree/events.h"

namespace scela::nla {

// Number of questions whether a rank has left, and of the answer that it has. There is no answer
// that it has not, and neither message needs a reply of its own.
inline constexpr RequestId kLeftRequest = UINT64_MAX - 1;

class LeftRanks {
 public:
  // `emit` passes an event to the core. `has_finalized` says that of a rank of this node.
  LeftRanks(std::function<void(Event)> emit, std::function<bool(Rank)> has_finalized)
      : emit_(std::move(emit)), has_finalized_(std::move(has_finalized)) {}

  // A rank of this node has ended.
  void add_ended(Rank rank) { ended_.add(rank); }
  // Returns true if `rank` is known to have left. Otherwise asks its agent, in the name of `asker`,
  // a rank of this node.
  bool has_left(Rank asker, Rank rank);
  // Takes a message of another agent. Returns false if it is not about ranks that have left.
  bool heard(const action::Reply& reply);

 private:
  std::function<void(Event)> emit_;
  std::function<bool(Rank)> has_finalized_;
  RankSet ended_;  // ranks of this node
  RankSet left_;   // of any node: their agents said so
};

}  // namespace scela::nla
