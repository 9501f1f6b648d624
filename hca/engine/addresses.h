// Where another node may be reached: what the job has said, or else what programs have, in the
// order in which it is to be tried.
//
// Programs say it with GIDs, which anybody can make up. So no address takes the place of another
// here: all are tried, first the one where the node has proved itself the last time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "hca/engine/endpoint.h"

namespace scela::hca {

class Addresses {
 public:
  static constexpr std::size_t kMost = 4;

  // By the job: what programs say counts for nothing.
  void fix(const Endpoint& only) {
    ways_ = {only};
    is_fixed_ = true;
  }
  // By a program. Of too many, the one goes that would be tried last.
  void say(const Endpoint& way) {
    if (is_fixed_ || std::ranges::find(ways_, way) != ways_.end()) return;
    if (ways_.size() == kMost) ways_.erase(ways_.end() - (ways_.back() == proved_ ? 2 : 1));
    ways_.push_back(way);
  }

  bool is_fixed() const { return is_fixed_; }
  void forget() { *this = Addresses(); }

  bool empty() const { return ways_.empty(); }
  std::size_t count() const { return ways_.size(); }
  const Endpoint& next() const { return ways_.front(); }
  // The next one was tried: it is where the node is; or it comes after the others from now on.
  void proved() { proved_ = ways_.front(); }
  void failed() { std::rotate(ways_.begin(), ways_.begin() + 1, ways_.end()); }

 private:
  std::vector<Endpoint> ways_;
  std::optional<Endpoint> proved_;
  bool is_fixed_ = false;
};

}  // namespace scela::hca
