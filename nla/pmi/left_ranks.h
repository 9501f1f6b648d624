// The ranks of the job that are known to have left: they have finalized or have ended. Only the
// agent of a rank's node knows that, and other agents ask it on demand. To report each rank to all
// nodes would take a message of each to all.
//
// RankPmi uses this part, on the shell's loop.
#pragma once

#include <functional>

#include "nla/core/tree/actions.h"
#include "nla/core/tree/events.h"

namespace scela::nla {

// The request id of the messages by which agents ask if a rank has left, and say that it has. There
// is no message that it has not. The core's replies to these sends are ignored.
inline constexpr RequestId kLeftRequest = UINT64_MAX - 1;

class LeftRanks {
 public:
  // `emit` passes an event to the core (nla/core/tree/events.h). `has_finalized` returns true if a
  // rank of this node has finalized its PMI.
  LeftRanks(std::function<void(Event)> emit, std::function<bool(Rank)> has_finalized)
      : emit_(std::move(emit)), has_finalized_(std::move(has_finalized)) {}

  // Notes that a rank of this node has ended.
  void add_ended(Rank rank) { ended_.add(rank); }
  // Returns true if `rank`, of any node, is known to have left. Otherwise returns false and sends
  // its agent a question, in the name of `asker`, a rank of this node; a later call may return
  // true. Does not block. Ranks are numbered as in the whole job.
  bool has_left(Rank asker, Rank rank);
  // Handles `reply` if it is a message of another agent about ranks that have left: answers its
  // question, or notes its answer. Returns false if it is another reply, which is for the rank.
  bool heard(const action::Reply& reply);

 private:
  std::function<void(Event)> emit_;
  std::function<bool(Rank)> has_finalized_;
  RankSet ended_;  // ranks of this node
  RankSet left_;   // of any node: their agents said so
};

}  // namespace scela::nla
