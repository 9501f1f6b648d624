// The verdicts on the ranks: what the root says of how each ended, compared with how it really did.
// One thread uses this part.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tests/sim/job/excuses.h"
#include "tests/sim/node/node_ends.h"
#include "tests/sim/rank/output.h"
#include "tests/sim/rank/traces.h"

namespace scela::sim {

class Verdicts {
 public:
  Verdicts(Run& run, const Network& network, const Nodes& nodes, const Processes& processes,
           const JobModel& job, EndOfJob& end, const Excuses& excuses, const NodeEnds& node_ends,
           const Output& output, const Traces& traces)
      : run_(run),
        network_(network),
        nodes_(nodes),
        processes_(processes),
        job_(job),
        end_(end),
        excuses_(excuses),
        node_ends_(node_ends),
        output_(output),
        traces_(traces) {}

  void on(std::uint32_t index, const nla::action::FirstFailure& action);
  void on(std::uint32_t index, const nla::action::JobEnded& action);
  // Returns true if the root has shown the verdicts.
  bool shown() const { return shown_; }

 private:
  // These return what is wrong with a verdict on a rank, or an empty text if it may stand.
  std::string judge(Rank rank, const nla::Outcome& outcome) const;
  std::string judge_cancelled(Rank rank, const nla::Outcome& outcome) const;
  std::string judge_ended(Rank rank, const nla::Outcome& outcome) const;

  void check_all(const nla::action::JobEnded& action);
  // The schedule has no disturbance, so no count may differ from the plan.
  void check_peaceful(const nla::action::JobEnded& action);

  Run& run_;
  const Network& network_;
  const Nodes& nodes_;
  const Processes& processes_;
  const JobModel& job_;
  EndOfJob& end_;
  const Excuses& excuses_;
  const NodeEnds& node_ends_;
  const Output& output_;
  const Traces& traces_;
  std::optional<std::pair<Rank, nla::Outcome>> first_failure_;
  bool shown_ = false;
};

}  // namespace scela::sim
