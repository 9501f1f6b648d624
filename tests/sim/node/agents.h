// The agents as machines: an agent is given an event, and what it answers is done at once.
//
// This part also checks how many bytes an agent holds, for which it counts the payload that is in
// flight. No action gives an agent another event; tasks do. One thread uses this part.
#pragma once

#include <functional>

#include "tests/sim/node/sim_nodes.h"

namespace scela::sim {

// The bytes that an agent may hold beside the payloads of operations in flight. These are output
// that waits for credit (1 MiB for all children, 256 KiB for its own ranks, nla/core) and the job
// while it arrives.
inline constexpr std::uint64_t kHeldBeside = std::uint64_t{2} * 1024 * 1024;

struct Hooks {
  // Called with what the agent of node `index` answered; may change it, to see an invariant fail.
  std::function<void(std::uint32_t index, const nla::Event&, nla::Actions&)> tamper;
  // Called after tamper.
  std::function<void(std::uint32_t index, const nla::Event&, const nla::Actions&)> observe;
};

class Agents {
 public:
  // Does one action of the agent of node `index`.
  using Act = std::function<void(std::uint32_t index, nla::Action& action)>;

  Agents(Run& run, Nodes& nodes, Hooks hooks, Act act)
      : run_(run), nodes_(nodes), hooks_(std::move(hooks)), act_(std::move(act)) {}

  // Gives the agent an event and does what it answers. Does nothing if the node is kNobody or its
  // agent does not run, or if an invariant is broken.
  void give(std::uint32_t index, const nla::Event& event);
  // A rank has asked for an operation that carries this much. Bytes of payload that is in flight
  // are open; those of pairs and messages are kept until they are read.
  void add_open(std::uint64_t bytes) { open_payload_ += bytes; }
  void add_kept(std::uint64_t bytes) { kept_payload_ += bytes; }

 private:
  void check_held(std::uint32_t index);

  Run& run_;
  Nodes& nodes_;
  Hooks hooks_;
  Act act_;
  std::uint64_t open_payload_ = 0;
  std::uint64_t kept_payload_ = 0;
};

}  // namespace scela::sim
