// The attributes of a node: key-value pairs that only the ranks of that node share, as PMI-2 has
// them. The agent's core, the state machine of the process that looks after the node, uses this
// part. One thread at a time calls it.
//
// No pair travels to another node. A get that waits is parked: it is answered when a rank of the
// node puts the key. It fails if the job goes on without a rank of the node, because that rank
// might have put it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nla/core/tree/core_context.h"
#include "nla/core/wire/request_names.h"

namespace scela::nla {

class Attributes {
 public:
  // `context` is borrowed, and the actions go to Context::out.
  explicit Attributes(Context& context) : context_(context) {}

  // Carry out a request of a rank of this node (ask::PutNode, ask::GetNode of
  // nla/core/wire/request_names.h). An action::Reply with `id` answers it at once. A get that waits
  // is answered when a rank puts the pair. A put is refused if the node's pairs would take too many
  // bytes.
  void ask(Rank rank, RequestId id, const ask::PutNode& put);
  void ask(Rank rank, RequestId id, const ask::GetNode& wanted);
  // Call it if these ranks of this node ended. Drops their gets that wait, without an answer.
  void ranks_ended(const RankSet& ranks);
  // Call it if the job goes on without these ranks. If one of them is of this node, fails every get
  // that waits, because its pair may never come.
  void peers_failed(const RankSet& ranks);
  // Returns the bytes of all keys and values.
  std::uint64_t held_bytes() const { return bytes_; }

 private:
  // Ranks that wait for a pair, each with its request.
  using Askers = std::vector<std::pair<Rank, RequestId>>;

  Context& context_;
  std::map<std::string, std::string, std::less<>> pairs_;
  std::uint64_t bytes_ = 0;                // bytes of all keys and values
  std::map<std::string, Askers> waiting_;  // askers by key
};

}  // namespace scela::nla
