#include "nla/core/job/local_ranks.h"

#include <utility>

namespace scela::nla {

void LocalRanks::start_first() {
  if (context_.own_ranks.empty()) return;
  if (job_end_.terminating() || processes_.guardian_lost()) {
    const Outcome cancelled{Ending::cancelled, 0, false, true, {}};
    ended(context_.own_ranks,
          processes_.guardian_lost() ? processes_.guardian_outcome() : cancelled);
    return;
  }
  processes_.start(context_.own_ranks, true);
  processes_.start_limit();
}

void LocalRanks::start_more(const RankSet& own) {
  RankSet wanted = own;
  if (job_end_.terminating() || processes_.guardian_lost() || processes_.timed_out()) {
    wanted = RankSet();
  }
  wanted.remove(spawns_.unwanted);
  if (const RankSet others = own.minus(wanted); !others.empty()) {
    ended(others, {Ending::cancelled, 0, false, true, {}});
  }
  if (wanted.empty()) return;
  const bool first = context_.own_ranks == own;
  processes_.start(wanted, first);
  if (!first) return;
  // The shell was not told of these failures and losses while this node had no ranks.
  if (!services_.failed().empty()) context_.act(action::RanksFailed{services_.failed()});
  if (!context_.lost_nodes.empty()) context_.act(action::NodesLost{context_.lost_nodes});
  processes_.start_limit();
}

void LocalRanks::end(const RankSet& ranks) {
  const RankSet here = verdicts_.open(ranks.intersection(context_.own_ranks));
  if (!here.empty()) context_.act(action::EndRanks{here});
}

void LocalRanks::on(const event::RankNotStarted& event) {
  processes_.not_started(RankSet::single(event.rank));
  Outcome outcome;
  outcome.ending = Ending::not_started;
  outcome.code = event.error;
  outcome.why = event.why;
  // A user's signal that ends a rank before its turn is as much a failure as one that ends it
  // later.
  if (event.error == kCancelled) {
    outcome = Outcome{Ending::cancelled, 0, false, job_end_.terminating(), {}};
    if (processes_.timed_out()) outcome = Outcome{Ending::timed_out, 0, false, false, {}};
  }
  if (processes_.guardian_lost()) outcome = processes_.guardian_outcome();
  ended(event.rank, counted_outcome(event.rank, std::move(outcome)));
}

void LocalRanks::on(const event::RanksRefused& event) {
  const RankSet ranks = verdicts_.open(event.ranks.intersection(context_.own_ranks));
  if (ranks.empty()) return;
  processes_.not_started(ranks);
  // A command on one host is not for the others.
  const Ending ending = context_.job->once_per_host ? Ending::not_started : Ending::refused;
  Outcome outcome{ending, event.error, false, false, event.why};
  if (processes_.guardian_lost()) outcome = processes_.guardian_outcome();
  ended(ranks, counted_outcome(ranks.front(), std::move(outcome)));
}

void LocalRanks::on(const event::RankExited& event) {
  Outcome outcome = event.outcome;
  // A rank that ends after the time limit did not finish in time, even if it exits with 0.
  if (processes_.timed_out()) {
    outcome = Outcome{Ending::timed_out, 0, false, false, {}};
  } else if (job_end_.terminating()) {
    outcome.ended_by_us = true;
  }
  if (processes_.guardian_lost()) outcome = processes_.guardian_outcome();
  ended(event.rank, counted_outcome(event.rank, std::move(outcome)));
}

void LocalRanks::ended(Rank rank, Outcome outcome) {
  if (!context_.own_ranks.contains(rank) || verdicts_.has(rank)) return;
  if (const Outcome* aborted = failures_.abort_of(rank)) outcome = *aborted;
  ended(RankSet::single(rank), outcome);
}

void LocalRanks::ended(const RankSet& ranks, const Outcome& outcome) {
  if (ranks.empty()) return;
  verdicts_.record(ranks, outcome);
  if (!outcome.success() && !outcome.ended_by_us) failures_.report_all(ranks, outcome);
  services_.ranks_ended(ranks);
  input_.ranks_closed(ranks);
}

// If a rank of an added world cannot be started, the asker is told, and the job goes on.
Outcome LocalRanks::counted_outcome(Rank rank, Outcome outcome) {
  // If the guardian is lost, that counts for these ranks too.
  if (spawns_.unwanted.contains(rank) && !processes_.guardian_lost()) outcome.ended_by_us = true;
  const bool never = outcome.ending == Ending::not_started || outcome.ending == Ending::refused;
  if (!never || context_.job->world_of(rank) == 0) return outcome;
  spawns_.not_started(rank, outcome.code, outcome.why);
  outcome.ending = Ending::not_started;
  // The asker is told the reason. The outcome is kept for as long as the job runs.
  outcome.why.clear();
  outcome.ended_by_us = true;
  return outcome;
}

}  // namespace scela::nla
