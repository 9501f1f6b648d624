// The ranks of this node: which of them are started, and how each of them ended. Their processes
// are in node_processes.h. A world is a set of ranks that a rank added to the running job (PMI
// spawn). The agent's core uses this part, and one thread at a time calls it.
#pragma once

#include "nla/core/io/streams.h"
#include "nla/core/job/job_end.h"
#include "nla/core/job/node_processes.h"
#include "nla/core/job/rank_failures.h"
#include "nla/core/kvs/rank_services.h"
#include "nla/core/tree/core_context.h"
#include "nla/core/tree/verdicts.h"

namespace scela::nla {

// The value of ECANCELED in event::RankNotStarted: the rank was not started because the job, or its
// world, was ended before.
inline constexpr std::int32_t kCancelled = 125;

class LocalRanks {
 public:
  // All references are borrowed, from the same agent (nla/core/agent/agent_state.h).
  LocalRanks(Context& context, Verdicts& verdicts, NodeProcesses& processes, const JobEnd& job_end,
             RankFailures& failures, RankServices& services, Spawns& spawns, InputFlow& input)
      : context_(context),
        verdicts_(verdicts),
        processes_(processes),
        job_end_(job_end),
        failures_(failures),
        services_(services),
        spawns_(spawns),
        input_(input) {}

  // Starts the ranks that the job begins with here. If the job is being ended, gives them verdicts
  // instead (Ending::cancelled).
  void start_first();
  // Starts `own`, the ranks of a world on this node. Ranks that are not wanted any more get
  // verdicts instead (Ending::cancelled).
  void start_more(const RankSet& own);
  // Kills those of these ranks that run on this node (msg::EndRanks).
  void end(const RankSet& ranks);

  // Gives the rank, which was not started, its verdict. Reports a failure unless the job is being
  // ended.
  void on(const event::RankNotStarted& event);
  // Gives a set of ranks, which the node cannot hold, their verdict, and reports a failure.
  void on(const event::RanksRefused& event);
  // Gives the rank, of which the process has ended, its verdict. Reports a failure if it is one.
  void on(const event::RankExited& event);

 private:
  // Gives a rank the verdict `outcome`, or that of its abort if there was one. Ignores ranks of
  // other nodes and ranks with a verdict.
  void ended(Rank rank, Outcome outcome);
  // Gives these ranks of this node the verdict `outcome`, reports a failure if it is one, and ends
  // what waits for them.
  void ended(const RankSet& ranks, const Outcome& outcome);
  // Returns the outcome that counts for the job if a rank of this node ended with `outcome`. If a
  // rank of a world was not started, the rank that asked for the world is told so; this is no
  // failure of the job.
  Outcome counted_outcome(Rank rank, Outcome outcome);

  Context& context_;
  Verdicts& verdicts_;
  NodeProcesses& processes_;
  const JobEnd& job_end_;
  RankFailures& failures_;
  RankServices& services_;
  Spawns& spawns_;
  InputFlow& input_;
};

}  // namespace scela::nla
