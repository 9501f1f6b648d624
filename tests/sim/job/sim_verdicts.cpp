#include "tests/sim/job/sim_verdicts.h"

#include "common/core/text.h"

namespace scela::sim {

namespace action = nla::action;
using nla::Ending;

namespace {

std::string text(const nla::Outcome& outcome) {
  constexpr std::string_view kNames[] = {"exited",  "signaled", "unfinished", "not_started",
                                         "aborted", "lost",     "cancelled",  "violated"};
  return cat(kNames[static_cast<int>(outcome.ending)], " ", outcome.code,
             outcome.core_dumped ? " core" : "", outcome.ended_by_us ? " by us" : "", " (",
             outcome.why, ")");
}

}  // namespace

void Verdicts::on(std::uint32_t index, const action::FirstFailure& action) {
  if (index != 0 || first_failure_)
    return run_.fail(nodes_.name(index) + ": FirstFailure from an agent, or twice");
  first_failure_.emplace(action.rank, action.outcome);
  if (action.rank >= processes_.size()) return run_.fail("FirstFailure names no rank");
  const std::string complaint = judge(action.rank, action.outcome);
  if (!complaint.empty()) return run_.fail("FirstFailure did not happen: " + complaint);
  if (action.outcome.success() || action.outcome.ended_by_us)
    return run_.fail("FirstFailure is none");
  const bool kills = run_.schedule.on_failure == nla::OnFailure::kill;
  if (kills || action.outcome.ends_job()) end_.begin();
}

void Verdicts::on(std::uint32_t index, const action::JobEnded& action) {
  if (index != 0 || shown_)
    return run_.fail(nodes_.name(index) + ": JobEnded from an agent, or twice");
  shown_ = true;
  check_all(action);
  if (run_.schedule.peaceful()) check_peaceful(action);
}

std::string Verdicts::judge(Rank rank, const nla::Outcome& outcome) const {
  const Process& process = processes_[rank];
  std::string wrong;
  if (outcome.ending == Ending::lost) {
    if (!excuses_.lost(rank) && !end_.gave_up())
      wrong = "nothing happened to its node or the way there";
  } else if (outcome.ending == Ending::cancelled) {
    wrong = judge_cancelled(rank, outcome);
  } else if (process.abort) {
    const bool may_differ = !outcome.ends_job() && nodes_.severed(process.node);
    if (outcome != *process.abort && !may_differ) wrong = "it is " + text(*process.abort);
  } else if (outcome.ends_job()) {
    wrong = "it did not ask for the end of the job";
  } else {
    wrong = judge_ended(rank, outcome);
  }
  if (wrong.empty()) return {};
  return cat("rank ", rank, " is said to be ", text(outcome), ", but ", wrong);
}

std::string Verdicts::judge_cancelled(Rank rank, const nla::Outcome& outcome) const {
  const Process& process = processes_[rank];
  if (process.ran || (process.life == Life::over && !process.cancelled)) return "it was started";
  // The report of an abort may get through where its verdict does not.
  const bool ending = end_.due() || processes_.any_aborted() ||
                      (process.node != kNobody && nodes_.severed(process.node));
  const bool unwanted =
      outcome.ended_by_us && (job_.unspawned.contains(rank) || excuses_.lost(rank));
  return ending || unwanted || end_.signalled() ? "" : "the job was not being ended";
}

std::string Verdicts::judge_ended(Rank rank, const nla::Outcome& outcome) const {
  const Process& process = processes_[rank];
  if (outcome.ending == Ending::not_started) {
    const bool right = !process.ran && process.life == Life::over && outcome.code == 2;
    return right ? "" : "its start did not fail";
  }
  if (process.life != Life::over) return "it is not over";
  if (!process.ran) return "it never ran";
  const nla::Outcome& fate = process.fate;
  if (outcome.ending != fate.ending || outcome.code != fate.code ||
      outcome.core_dumped != fate.core_dumped) {
    return "it was " + text(fate);
  }
  const bool told = node_ends_.signalled(process.node) || job_.unspawned.contains(rank);
  if (outcome.ended_by_us && !told) return "nobody told it to end";
  if (!outcome.ended_by_us && process.by_us && !end_.signalled()) return "we ended it";
  return {};
}

void Verdicts::check_all(const action::JobEnded& action) {
  RankSet all;
  std::uint64_t count = 0;
  bool failing = false;
  for (const auto& group : action.verdicts) {
    const nla::Outcome& outcome = group.first;
    const RankSet& ranks = group.second;
    all.add(ranks);
    count += ranks.size();
    if (!outcome.success() && !outcome.ended_by_us) failing = true;
    std::string complaint;
    ranks.for_each([&](Rank rank) {
      if (rank < processes_.size() && complaint.empty()) complaint = judge(rank, outcome);
      if (first_failure_ && first_failure_->first == rank && first_failure_->second != outcome) {
        complaint = cat("FirstFailure said rank ", rank, " is ", text(first_failure_->second),
                        ", its verdict is ", text(outcome));
      }
    });
    if (!complaint.empty()) return run_.fail(complaint);
  }
  const std::uint32_t size = job_.now.map.size();
  const RankSet expected = job_.launched ? RankSet::run(0, size) : RankSet();
  if (all != expected || count != expected.size()) {
    return run_.fail(
        cat("verdicts on ranks ", all.text(), " (", count, " in all), the job has ", size));
  }
  if (failing && !first_failure_ && !end_.stopped())
    run_.fail("ranks failed and there is no FirstFailure");
}

void Verdicts::check_peaceful(const action::JobEnded& action) {
  const nla::Stats& stats = action.stats;
  if (action.verdicts.size() != 1 || !action.verdicts.front().first.success()) {
    return run_.fail("an undisturbed job did not succeed");
  }
  if (first_failure_) return run_.fail("an undisturbed job has a first failure");
  if (job_.now.map.size() != processes_.size())
    return run_.fail("an undisturbed spawn was refused");
  if (stats.agents != job_.hosts) return run_.fail(cat("Stats count ", stats.agents, " agents"));
  const std::uint64_t written = output_.written();
  if (stats.output_bytes != written) {
    return run_.fail(cat("Stats count ", stats.output_bytes, " bytes of output of ", written));
  }
  if (stats.messages != network_.messages()) {
    return run_.fail(cat("Stats count ", stats.messages, " messages of ", network_.messages()));
  }
  if (!run_.schedule.trace) return;
  if (traces_.complete() < job_.hosts) run_.fail(cat(traces_.complete(), " traces arrived whole"));
}

}  // namespace scela::sim
