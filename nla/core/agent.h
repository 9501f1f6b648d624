// The node launch agent as a state machine: events in, actions out.
//
// The same class is the root of the tree (inside scela-run, without ranks of its own: decision D1)
// and every agent below it. It knows no socket, process, clock or thread; nla/shell gives it those,
// and the simulator (tests/sim) runs thousands of them under virtual time. Deterministic: the same
// events give the same actions.
//
// Life: see the table of phases in lifecycle.h.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "cache/mirror.h"
#include "cache/policy.h"
#include "nla/core/actions.h"
#include "nla/core/events.h"

namespace scela::nla {

enum class Role : std::uint8_t { root, agent };

class Agent {
 public:
  // `make_policy` is another than cache's in simulations only.
  explicit Agent(Role role, cache::PolicyMaker make_policy = cache::make_policy);
  ~Agent();
  Agent(Agent&&) noexcept;
  Agent& operator=(Agent&&) noexcept;

  // Takes one event and appends what is to be done to `out`.
  void handle(const Event& event, Actions& out);

  bool finished() const;             // action::Finish was given
  std::uint64_t held_bytes() const;  // payload held for later: what "memory bounded" is about
  // Tells `mirror` of every change of the node's cache from now on; nullptr: nobody. Only once the
  // job is known.
  void reflect_cache_in(cache::Mirror* mirror);
  void for_each_cached(
      const std::function<void(std::string_view key, std::string_view value)>& each) const;
  RankSet failed_ranks() const;       // known to have, wherever they ran
  std::uint64_t cache_bytes() const;  // keys and values in the node's cache
  std::string describe() const;       // one line for a failing test

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scela::nla
