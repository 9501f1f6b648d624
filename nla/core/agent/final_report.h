// The last reports of an agent: the trace (--trace) and the statistics (--stats), its own and those
// of the agents below. The agent's core uses this part, and one thread at a time calls it. What it
// sends goes to the parent; at the root, inside scela-run, to the shell.
#pragma once

#include "nla/core/agent/inspection_relay.h"
#include "nla/core/io/streams.h"
#include "nla/core/job/job_end.h"
#include "nla/core/kvs/rank_services.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"
#include "nla/core/tree/verdicts.h"

namespace scela::nla {

class FinalReport {
 public:
  // All references are borrowed, from the same agent (agent_state.h).
  FinalReport(Context& context, Verdicts& verdicts, const JobEnd& job_end,
              const RankServices& services, OutputFlow& output, InspectionRelay& inspections)
      : context_(context),
        verdicts_(verdicts),
        job_end_(job_end),
        services_(services),
        output_(output),
        inspections_(inspections) {}

  // Sends on a piece of this agent's own trace.
  void on(const event::SendTrace& event);
  // Takes the shell's measurements of this process. Sends Done, the last message of an agent; at
  // the root, reports the end of the job.
  void on(const event::Measured& event);
  // Passes a piece of trace of a node below on. Returns false if the message breaks the protocol.
  bool from_child(Child& child, const msg::Report& message);
  // Takes a child's last message: adds its statistics to those of this agent. Returns false if the
  // message breaks the protocol.
  bool from_child(Child& child, const msg::Done& message);

 private:
  // Returns true if the child was told to end, so that it may send its last messages.
  bool may_end(const Child& child) const;
  // Returns the totals of the subtree, with the shell's measurements of this process.
  Stats totals(const event::Measured& event) const;

  Context& context_;
  Verdicts& verdicts_;
  const JobEnd& job_end_;
  const RankServices& services_;
  OutputFlow& output_;
  InspectionRelay& inspections_;
  Stats below_;  // totals of the children that are done
  // Numbers of nodes below, not of ranks, from which the whole trace has come.
  RankSet traced_nodes_;
};

}  // namespace scela::nla
