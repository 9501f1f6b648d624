// The ranks of this node: which of them are started, and how each of them ended. Their processes
// are in node_processes.h. The agent's core uses this part, and one thread at a time calls it.
#pragma once

#include "nla/core/io/streams.h"
#include "nla/core/job/job_end.h"
#include "nla/core/job/node_processes.h"
#include "nla/core/job/rank_failures.h"
#include "nla/core/kvs/rank_services.h"
#include "nla/core/tree/context.h"
#include "nla/core/tree/verdicts.h"

namespace scela::nla {

// event::RankNotStarted carries this value of ECANCELED.
inline constexpr std::int32_t kCancelled = 125;

class LocalRanks {
 public:
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

  // Starts the ranks that the job begins with here, or ends them at once if the job is being ended.
  void start_first();
  // Starts ranks that a world brings here, or ends them at once if they are not wanted.
  void start_more(const RankSet& own);
  // Ends those of these ranks that run here (msg::EndRanks).
  void end(const RankSet& ranks);

  void on(const event::RankNotStarted& event);
  void on(const event::RanksRefused& event);
  void on(const event::RankExited& event);

 private:
  // A rank has ended. Ignores ranks of other nodes and ranks with a verdict. The outcome of an
  // abort counts instead of `outcome`.
  void ended(Rank rank, Outcome outcome);
  // All of these ranks of this node ended with the same outcome.
  void ended(const RankSet& ranks, const Outcome& outcome);
  // Returns the outcome of a rank of this node as it counts. A rank of a world that was not started
  // is no failure of the job.
  Outcome softened(Rank rank, Outcome outcome);

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
