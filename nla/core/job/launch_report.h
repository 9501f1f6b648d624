// The report that the ranks the job began with have been started: gathered from the children, and
// made once to the parent, or at the root to the user. The agent's core uses this part, and one
// thread at a time calls it.
#pragma once

#include <cstdint>

#include "nla/core/io/streams.h"
#include "nla/core/job/node_processes.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/context.h"
#include "nla/core/tree/verdicts.h"

namespace scela::nla {

class LaunchReport {
 public:
  LaunchReport(Context& context, const Children& children, const Verdicts& verdicts,
               const NodeProcesses& processes, InputFlow& input)
      : context_(context),
        children_(children),
        verdicts_(verdicts),
        processes_(processes),
        input_(input) {}

  bool from_child(Child& child, const msg::Launched& message);
  // The ranks run. Reports once all first ranks of the subtree have been started, or have ended.
  void advance();
  // Returns true once that was reported.
  bool sent() const { return sent_; }
  // Repeats the report to a new parent, if it was sent.
  void repeat_to_parent();

 private:
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
