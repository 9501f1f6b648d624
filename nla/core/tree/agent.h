// The node launch agent as a state machine: it takes events and returns actions. Each node of a job
// has one agent, which starts and watches the ranks there. The agents of a job form a tree.
//
// One class is both the root of the tree, inside scela-run and without ranks of its own (decision
// D1), and every agent below it. It knows no socket, process, clock or thread. The shell around it
// (nla/process/shell.h) supplies those, and the simulator (tests/sim) runs thousands of agents
// under virtual time. An agent is deterministic: the same events give the same actions. It has no
// lock, and one thread at a time uses it.
//
// The policy decides which key-value pairs of PMI a node keeps in its cache (cache/policy.h).
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
  // `make_policy` makes the cache's policy once the job is known. Only simulations pass another
  // than that of cache.
  explicit Agent(Role role, cache::PolicyMaker make_policy = cache::make_policy);
  ~Agent();
  Agent(Agent&&) noexcept;
  Agent& operator=(Agent&&) noexcept;

  // Takes one event and appends the actions that answer it to `out`. Does not block. Does nothing
  // once finished() is true.
  void handle(const Event& event, Actions& out);

  // Returns true once action::Finish was given: the process has nothing left to do.
  bool finished() const;
  // Returns the bytes of payload that are held for later: output, parts of collective operations,
  // messages, parked requests. Tests check that they stay bounded.
  std::uint64_t held_bytes() const;
  // Registers an object that is told of every change of the node's cache from now on. nullptr
  // unregisters it. The caller keeps `mirror` alive until then. Does nothing before the job is
  // known.
  void reflect_cache_in(cache::Mirror* mirror);
  // Calls each(key, value) for every pair of the node's cache. There is none before the job is
  // known. The views are valid during the call.
  void for_each_cached(
      const std::function<void(std::string_view key, std::string_view value)>& each) const;
  // Returns the ranks that are known to have failed, on any node. It stays empty if the job ends
  // with its first failure.
  RankSet failed_ranks() const;
  // Returns the bytes of keys and values in the cache.
  std::uint64_t cache_bytes() const;
  // Returns one line that describes the state, for the message of a failing test.
  std::string describe() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace scela::nla
