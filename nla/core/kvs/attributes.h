// The attributes of a node: key-value pairs that only the ranks of that node share, as PMI-2 has
// them. The agent's core uses this part, and one thread at a time calls it.
//
// No pair travels to another node. A get that waits is parked until a rank of the node puts the
// key, or until the job goes on without a rank that might have put it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nla/core/tree/context.h"
#include "nla/core/wire/request.h"

namespace scela::nla {

class Attributes {
 public:
  explicit Attributes(Context& context) : context_(context) {}

  // Carry out a request of a rank of this node. An action::Reply with `id` answers it, at once or
  // when the pair comes.
  void ask(Rank rank, RequestId id, const ask::PutNode& put);
  void ask(Rank rank, RequestId id, const ask::GetNode& wanted);
  // These ranks of this node ended. Their gets that wait are dropped without an answer.
  void ranks_ended(const RankSet& ranks);
  // The job goes on without these ranks. If one of them is of this node, every get that waits
  // fails, because its pair may never come.
  void peers_failed(const RankSet& ranks);
  std::uint64_t held_bytes() const { return bytes_; }

 private:
  using Askers = std::vector<std::pair<Rank, RequestId>>;

  Context& context_;
  std::map<std::string, std::string, std::less<>> pairs_;
  std::uint64_t bytes_ = 0;                // bytes of all keys and values
  std::map<std::string, Askers> waiting_;  // askers by key
};

}  // namespace scela::nla
