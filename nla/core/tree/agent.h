// The node launch agent as a state machine: it takes events and returns actions.
//
// One class is both the root of the tree, inside scela-run and without ranks of its own (decision
// D1), and every agent below it. It knows no socket, process, clock or thread. nla/process/shell.h
// supplies those, and the simulator (tests/sim) runs thousands of agents under virtual time. An
// agent is deterministic: the same events give the same actions. It has no lock, and one thread at
// a time uses it.
//
// lifecycle.h has the table of an agent's phases.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "cache/mirror.h"
#include "cache/policy.h"
#include "nla/core/tree/actions.h"
#include "nla/core/tree/events.h"

namespace scela::nla {

// The root is inside scela-run and has no ranks. An agent runs on each node.
enum class Role : std::uint8_t { root, agent };

class Agent {
 public:
  // Only simulations pass a `make_policy` other than that of cache.
  explicit Agent(Role role, cache::PolicyMaker make_policy = cache::make_policy);
  ~Agent();
  Agent(Agent&&) noexcept;
  Agent& operator=(Agent&&) noexcept;

  // Takes one event and appends the actions that answer it to `out`. Does not block. Does nothing
  // once finished() is true.
  void handle(const Event& event, Actions& out);

  bool finished() const;  // true once action::Finish was given
  // Bytes of payload that are held for later. Tests check that they stay bounded.
  std::uint64_t held_bytes() const;
  // Tells `mirror` of every change of the node's cache from now on. If it is nullptr, no mirror is
  // told any more. Has an effect only once the job is known.
  void reflect_cache_in(cache::Mirror* mirror);
  // Calls each(key, value) for every pair of the node's cache. There is none before the job is
  // known.
  void for_each_cached(
      const std::function<void(std::string_view key, std::string_view value)>& each) const;
  // The ranks that are known to have failed, on any node.
  RankSet failed_ranks() const;
  std::uint64_t cache_bytes() const;  // bytes of keys and values in the cache
  std::string describe() const;       // one line of state, for a failing test

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scela::nla
