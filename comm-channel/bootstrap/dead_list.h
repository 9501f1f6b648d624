// Knows which ranks have failed, by asking the launcher now and then. It is used if this process
// does not share memory with the node's agent, which would say so: with --pmi port, for spawned
// ranks and with SCELA_SEGMENT=0.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/core/rank_set.h"

namespace scela::channel {

class DeadList {
 public:
  // A question goes to the agent of this node and no further. The other ranks ask as often, so a
  // failed rank is known well within a second.
  static constexpr std::chrono::milliseconds kBetweenQuestions{250};

  // Returns whether the rank is known to have failed. `ask` returns what the launcher says, for
  // example "0,2-4", or nothing if it does not say. It is called at most once in kBetweenQuestions.
  template <class Ask>
  bool has(int rank, Ask ask) {
    const std::chrono::nanoseconds now = coarse_now();
    if (!asked_ || now - *asked_ >= kBetweenQuestions) {
      asked_ = now;
      note(ask());
    }
    return dead_.contains(static_cast<Rank>(rank));
  }

 private:
  static std::chrono::nanoseconds coarse_now();
  // Adds the ranks that the launcher has named. Text that is no list of ranks is ignored.
  void note(const std::optional<std::string>& said);

  std::optional<std::chrono::nanoseconds> asked_;
  RankSet dead_;
};

}  // namespace scela::channel
