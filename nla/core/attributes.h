// The attributes of a node: pairs that its own ranks share, as PMI-2 has them.
//
// Nothing of them travels. A get that waits is parked until a rank of the node puts what it asks
// for, or until the job goes on without one that might have.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nla/core/context.h"
#include "nla/core/request.h"

namespace scela::nla {

class Attributes {
 public:
  explicit Attributes(Context& context) : context_(context) {}

  void ask(Rank rank, RequestId id, const ask::PutNode& put);
  void ask(Rank rank, RequestId id, const ask::GetNode& wanted);
  void ranks_ended(const RankSet& ranks);
  // The job goes on without these ranks; if one is of this node, who waits is told: what it waits
  // for may never come.
  void peers_failed(const RankSet& ranks);
  std::uint64_t held_bytes() const { return bytes_; }

 private:
  using Askers = std::vector<std::pair<Rank, RequestId>>;

  Context& context_;
  std::map<std::string, std::string, std::less<>> pairs_;
  std::uint64_t bytes_ = 0;                // of all pairs
  std::map<std::string, Askers> waiting_;  // for a key
};

}  // namespace scela::nla
