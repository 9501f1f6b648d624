// Which ranks have failed, where no memory of the node's agent tells it (--pmi port, spawned ranks,
// SCELA_SEGMENT=0): the launcher is asked, now and then.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/core/rank_set.h"

namespace scela::channel {

class DeadList {
 public:
  // A question goes to the agent of this node and no further. Others of a job look as often, so a
  // rank is named well within a second.
  static constexpr std::chrono::milliseconds kBetweenQuestions{250};

  // `ask`: what the launcher says, "0,2-4"; none: it does not.
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
  void note(const std::optional<std::string>& said);

  std::optional<std::chrono::nanoseconds> asked_;
  RankSet dead_;
};

}  // namespace scela::channel
