// The addresses at which another node may be reached, in the order in which the engine tries them.
// The description of the job has named one, or else programs have named some. The engine's
// connections to other nodes use it; it has no lock, since the engine has one thread.
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

// The addresses of one node.
class Addresses {
 public:
  static constexpr std::size_t kMax = 4;  // addresses of a node

  // Sets the only address, which the job's description or the agent has named. Addresses that
  // programs name are ignored from now on.
  void fix(const Endpoint& only) {
    endpoints_ = {only};
    is_fixed_ = true;
  }
  // Adds an address that a program has named, to be tried last. If there are too many, the one that
  // would be tried last is dropped, but not the one that was proved.
  void say(const Endpoint& way) {
    if (is_fixed_ || std::ranges::find(endpoints_, way) != endpoints_.end()) return;
    if (endpoints_.size() == kMax)
      endpoints_.erase(endpoints_.end() - (endpoints_.back() == proved_ ? 2 : 1));
    endpoints_.push_back(way);
  }

  // Returns true after fix().
  bool is_fixed() const { return is_fixed_; }
  // Removes all addresses, also that of fix().
  void forget() { *this = Addresses(); }

  bool empty() const { return endpoints_.empty(); }
  std::size_t count() const { return endpoints_.size(); }
  // Returns the address to try next; there must be one.
  const Endpoint& next() const { return endpoints_.front(); }
  // Report on the address that was tried last, which is that of next(). proved(): the node has
  // proved there that it knows the key. failed(): that address is tried last from now on.
  void proved() { proved_ = endpoints_.front(); }
  void failed() { std::rotate(endpoints_.begin(), endpoints_.begin() + 1, endpoints_.end()); }

 private:
  std::vector<Endpoint> endpoints_;
  std::optional<Endpoint> proved_;
  bool is_fixed_ = false;
};

}  // namespace scela::hca
