// The verdicts of a subtree: the outcome of each rank (nla/core/wire/outcome.h), gathered until all
// ranks have one. The agent's core uses this part, and one thread at a time calls it.
//
// Verdicts travel to the root when the first rank of a subtree has ended and when all have. They
// are grouped by outcome into rank sets, so that a job of a million successes is one range.
// Failures that matter at once travel as PROCESS_FAIL (nla/core/job/rank_failures.h).
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "common/core/rank_set.h"
#include "nla/core/wire/outcome.h"

namespace scela::nla {

class Verdicts {
 public:
  // Each outcome with the ranks that have it.
  using Groups = std::vector<std::pair<Outcome, RankSet>>;

  // Adds ranks that must get a verdict. Ranks that are expected already change nothing.
  void expect(const RankSet& ranks) { expected_.add(ranks); }
  // Gives these ranks the verdict `outcome`. The first verdict of a rank counts. Later ones are
  // ignored, and so are ranks that are not expected.
  void record(const RankSet& ranks, const Outcome& outcome) {
    const RankSet fresh = ranks.intersection(expected_).minus(given_);
    if (fresh.empty()) return;
    given_.add(fresh);
    groups_[outcome].add(fresh);
  }
  // Returns the expected ranks that have no verdict yet.
  RankSet open() const { return expected_.minus(given_); }
  // Returns those of `among` that are expected and have no verdict yet.
  RankSet open(const RankSet& among) const { return among.intersection(expected_).minus(given_); }
  // Returns true if the rank has its verdict.
  bool has(Rank rank) const { return given_.contains(rank); }
  // Returns true if every expected rank has its verdict.
  bool complete() const { return given_.size() == expected_.size(); }
  // Returns true if no rank has its verdict.
  bool none() const { return given_.empty(); }
  // Returns the verdicts so far, the ranks of each outcome as one set.
  Groups groups() const { return {groups_.begin(), groups_.end()}; }

 private:
  RankSet expected_;
  RankSet given_;
  std::map<Outcome, RankSet> groups_;
};

}  // namespace scela::nla
