// The addresses at which another node may be reached, in the order in which the engine tries them.
// The job has named one, or else programs have named some. The engine's connections to other nodes
// use it; it has no lock, since the engine has one thread.
//
// Programs name addresses with GIDs, which any program can forge. So no address replaces another
// here. The engine tries all of them, starting with the one where the node last proved its
// identity.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "hca/engine/net/endpoint.h"

namespace scela::hca {

class Addresses {
 public:
  static constexpr std::size_t kMax = 4;

  // The job names the address: what programs name is ignored from now on.
  void fix(const Endpoint& only) {
    ways_ = {only};
    is_fixed_ = true;
  }
  // A program names an address. If there are too many, the one that would be tried last is dropped.
  void say(const Endpoint& way) {
    if (is_fixed_ || std::ranges::find(ways_, way) != ways_.end()) return;
    if (ways_.size() == kMax) ways_.erase(ways_.end() - (ways_.back() == proved_ ? 2 : 1));
    ways_.push_back(way);
  }

  bool is_fixed() const { return is_fixed_; }
  void forget() { *this = Addresses(); }

  bool empty() const { return ways_.empty(); }
  std::size_t count() const { return ways_.size(); }
  // The caller has checked that there is an address.
  const Endpoint& next() const { return ways_.front(); }
  // Report on the address that was tried: the node is there, or this address comes last from now
  // on.
  void proved() { proved_ = ways_.front(); }
  void failed() { std::rotate(ways_.begin(), ways_.begin() + 1, ways_.end()); }

 private:
  std::vector<Endpoint> ways_;
  std::optional<Endpoint> proved_;
  bool is_fixed_ = false;
};

}  // namespace scela::hca
