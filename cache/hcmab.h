// HCMAB: hierarchical cache, message aggregation, broadcast (thesis section 3, Table 3.1).
//
// Puts stay on the node. A fence sends one aggregate up from every agent, and the root broadcasts
// all of it. So every get is answered from this node's own table. Every node needs O(p*n) memory.
// make_policy() (policy.h) makes it; one thread at a time uses it.
#pragma once

#include <string>
#include <string_view>

#include "cache/policy.h"
#include "cache/store.h"

namespace scela::cache {

class Hcmab final : public Policy {
 public:
  // The contract is in cache/policy.h. put() stages the pair, take_stage() returns the staged ones
  // for a fence, and commit() stores the pairs of all nodes that the release brings. Pairs and
  // answers that only pass this node are not kept. get() finds the pair here or reports it absent.
  bool put(std::string_view key, std::string_view value) override;
  bool put_from_child(std::string_view key, std::string_view value) override;
  std::string take_stage() override;
  void aggregate_passes(std::string_view pairs) override;
  bool release_carries_pairs() const override { return true; }
  bool wants_release() const override { return false; }
  std::string take_release() override { return {}; }
  void commit(std::string_view pairs) override;
  void fence_done(std::uint64_t taken) override { store_.settle(taken); }
  void group_fence_done(std::uint64_t) override {}
  void evict_no_more() override {}
  Lookup get(std::string_view key, bool below) override;
  void answer_passes(std::string_view key, std::string_view value) override;
  Store& table() override { return store_; }
  Usage usage() const override { return store_.usage(); }

 private:
  Store store_;
};

}  // namespace scela::cache
