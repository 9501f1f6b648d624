#include "nla/core/job/rank_failures.h"

#include <csignal>

#include "nla/core/job/verdict_reports.h"

namespace scela::nla {

void RankFailures::report(Rank rank, const Outcome& said) {
  const Outcome outcome = with_short_why(said);
  if (outcome.ends_job()) aborted_.emplace(rank, outcome);
  if (context_.is_root()) {
    decide(rank, outcome);
    return;
  }
  // Under kill the first report ends the job; an abort ends it under any policy.
  const bool needed =
      !sent_ || outcome.ends_job() || (context_.job && context_.job->on_failure == OnFailure::wait);
  if (!needed) return;
  sent_ = true;
  context_.send_up(msg::ProcessFail{rank, outcome});
}

void RankFailures::report_all(const RankSet& ranks, const Outcome& outcome) {
  if (context_.job->on_failure == OnFailure::kill || outcome.ends_job()) {
    report(ranks.front(), outcome);
  } else {
    ranks.for_each([&](Rank rank) { report(rank, outcome); });
  }
}

void RankFailures::lose(const RankSet& ranks, const std::string& why) {
  verdicts_.open(ranks).for_each([&](Rank rank) {
    if (const auto at = reported_.find(rank); at != reported_.end()) {
      verdicts_.record(RankSet::single(rank), at->second);
    }
  });
  const RankSet open = verdicts_.open(ranks);
  if (open.empty()) return;
  const Outcome outcome{Ending::lost, 0, false, job_end_.terminating(), why};
  verdicts_.record(open, outcome);
  if (!job_end_.terminating()) report_all(open, outcome);
}

bool RankFailures::from_child(Child& child, const msg::ProcessFail& message) {
  if (!child.ranks.contains(message.rank)) return false;
  // An adopted agent says again what its lost parent may have kept to itself.
  const Outcome outcome = with_bounded_why(child, message.outcome);
  const bool fresh = reported_.emplace(message.rank, outcome).second;
  if (fresh || outcome.ends_job()) report(message.rank, outcome);
  return true;
}

void RankFailures::repeat_to_parent() {
  std::map<Rank, Outcome> failures = aborted_;
  failures.insert(reported_.begin(), reported_.end());
  for (const auto& [outcome, ranks] : verdicts_.groups()) {
    if (outcome.success() || outcome.ended_by_us) continue;
    ranks.for_each([&, &said = outcome](Rank rank) { failures.emplace(rank, said); });
  }
  for (const auto& [rank, outcome] : failures)
    context_.send_up(msg::ProcessFail{rank, outcome});
}

const Outcome* RankFailures::abort_of(Rank rank) const {
  const auto at = aborted_.find(rank);
  return at != aborted_.end() ? &at->second : nullptr;
}

void RankFailures::decide(Rank rank, const Outcome& outcome) {
  if (job_end_.terminating()) return;
  if (!sent_) context_.act(action::FirstFailure{rank, outcome});
  sent_ = true;
  if (context_.job->on_failure == OnFailure::kill || outcome.ends_job()) {
    job_end_.terminate(SIGTERM, context_.grace_ms);
  } else {
    services_.rank_failed(rank);
  }
}

}  // namespace scela::nla
