// The verdicts of a subtree: one for each rank, gathered until the subtree is complete. The agent's
// core uses this part, and one thread at a time calls it.
//
// Verdicts travel when the first rank has ended and when all have. They are grouped by outcome into
// rank sets, so that a job of a million successes is one range. Failures that matter at once travel
// as PROCESS_FAIL (nla/core/job/rank_failures.h).
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "common/core/rank_set.h"
#include "nla/core/wire/outcome.h"

namespace scela::nla {

class Verdicts {
 public:
  using Groups = std::vector<std::pair<Outcome, RankSet>>;

  void expect(const RankSet& ranks) { expected_.add(ranks); }
  // The first verdict of a rank counts. Later ones are ignored, and so are ranks that are not
  // expected.
  void record(const RankSet& ranks, const Outcome& outcome) {
    const RankSet fresh = ranks.intersection(expected_).minus(given_);
    if (fresh.empty()) return;
    given_.add(fresh);
    groups_[outcome].add(fresh);
  }
  // Return the expected ranks that have no verdict yet, or those among `among`.
  RankSet open() const { return expected_.minus(given_); }
  RankSet open(const RankSet& among) const { return among.intersection(expected_).minus(given_); }
  bool has(Rank rank) const { return given_.contains(rank); }
  bool complete() const { return given_.size() == expected_.size(); }
  bool none() const { return given_.empty(); }
  Groups groups() const { return {groups_.begin(), groups_.end()}; }

 private:
  RankSet expected_;
  RankSet given_;
  std::map<Outcome, RankSet> groups_;
};

}  // namespace scela::nla
