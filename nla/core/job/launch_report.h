// The report that the ranks the job began with have been started: gathered from the children, and
// sent once to the parent, or shown at the root to the user. The agent's core uses this part, and
// one thread at a time calls it.
#pragma once

#include <cstdint>

#include "nla/core/io/streams.h"
#include "nla/core/job/node_processes.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"
#include "nla/core/tree/verdicts.h"

namespace scela::nla {

class LaunchReport {
 public:
  // All references are borrowed, from the same agent (nla/core/agent/agent_state.h).
  LaunchReport(Context& context, const Children& children, const Verdicts& verdicts,
               const NodeProcesses& processes, InputFlow& input)
      : context_(context),
        children_(children),
        verdicts_(verdicts),
        processes_(processes),
        input_(input) {}

  // Takes a child's report. Returns true; a child may repeat its report.
  bool from_child(Child& child, const msg::Launched& message);
  // Call it after each event while the ranks run. Reports once all first ranks of the subtree have
  // been started, or have ended.
  void advance();
  // Returns true once the report was sent.
  bool sent() const { return sent_; }
  // Sends the report again to a new parent, if it was sent.
  void repeat_to_parent();

 private:
  // Sends the report to the parent, or at the root shows it and begins to read standard input.
  void send();
  // Returns those of `ranks` that the job began with.
  RankSet first_ranks(const RankSet& ranks) const;

  Context& context_;
  const Children& children_;
  const Verdicts& verdicts_;
  const NodeProcesses& processes_;
  InputFlow& input_;
  std::uint32_t below_ = 0;  // ranks that children have reported as started
  bool sent_ = false;
};

}  // namespace scela::nla
