// The states of a node's ranks, as its PMIx server sees them: which of them are connected, and
// which have ended. The server is the process beside the agent to which the node's ranks are
// connected.
//
// libpmix waits in its fences for every rank of its node, until it loses the connection of one. A
// rank that ends before it has connected has no connection to lose, so a stand-in, a small process,
// connects in its name and ends. It is started once other ranks are connected, because those may
// wait for it.
//
// Pure, like PmixService (pmix_service.h), which owns this part and lends it to the others; one
// thread at a time calls it.
#pragma once

#include <functional>
#include <utility>

#include "nla/core/wire/job.h"
#include "pmix/core/process.h"

namespace scela::nla {

class PmixRanks {
 public:
  // `job` and `own` (this node's ranks) are borrowed. They must outlive the object, and may grow.
  // `is_leaving` returns true if the rank's process is about to end; `stand_in` starts the stand-in
  // of a rank (PmixService::Sides). Both may be empty.
  PmixRanks(const Job& job, const RankSet& own, std::function<bool(Rank)> is_leaving,
            std::function<void(Rank)> stand_in)
      : job_(job), own_(own), is_leaving_(std::move(is_leaving)), stand_in_(std::move(stand_in)) {}

  // Note that the server has reported PMIx_Init or PMIx_Finalize of a rank. They return false if
  // the rank is not of this node.
  bool connected(Rank rank);
  // Takes the server's report that a rank has called PMIx_Finalize. Returns false if the rank is
  // not of this node.
  bool finalized(Rank rank);
  // Notes that a rank of this node has ended.
  void ended(Rank rank);
  // Starts a stand-in for the rank of `process` if it never connected, now or when another rank is
  // connected. To be called after ended().
  void note_end(const pmix::Process& process);

  // Returns true if the rank called PMIx_Init and not PMIx_Finalize, even if it has ended.
  bool is_connected(Rank rank) const { return connected_.contains(rank); }
  // Returns true if the rank is of this node.
  bool is_own(Rank rank) const { return own_.contains(rank); }
  // Returns true if the rank is of this node and has not ended.
  bool is_here(Rank rank) const { return own_.contains(rank) && !ended_.contains(rank); }
  // Returns true if one of `ranks` has ended on this node or is about to. The server lets a fence
  // complete when all ranks that are left have entered it, but such a fence must fail.
  bool is_incomplete(const RankSet& ranks) const;

 private:
  // Sends a stand-in for each rank in absent_, once a rank is connected.
  void send_stand_ins();

  const Job& job_;
  const RankSet& own_;
  std::function<bool(Rank)> is_leaving_;
  std::function<void(Rank)> stand_in_;
  RankSet connected_;  // see is_connected()
  RankSet known_;      // ranks that have ever connected
  // Ranks that ended before they connected, and for which no stand-in was sent.
  RankSet absent_;
  RankSet ended_;
};

}  // namespace scela::nla
