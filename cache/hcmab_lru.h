// HCMAB-LRU: as HCMAB, but a node evicts what earlier stages brought, least recently used first. It
// takes O(p) memory on each node, one stage's worth (thesis section 3, Table 3.1).
//
// The bound is make_policy's limit or, without one, the largest stage so far. A pair that a node's
// own ranks have put stays until a fence has brought it to all nodes. The root evicts nothing: it
// answers for what other agents no longer have, at the price of O(p*n) memory in scela-run. A miss
// goes up only on a node that has evicted a pair, or that has not received all pairs. On other
// nodes the table is complete, so a miss is answered at once. A copy that was asked for again has
// no stamp, and any value replaces it. So once groups have fences, the root adds to each release
// what has changed there. make_policy() (policy.h) makes the object; one thread at a time uses it.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "cache/policy.h"
#include "cache/store.h"

namespace scela::cache {

class HcmabLru final : public Policy {
 public:
  // Uses is_root and limit of `place`.
  explicit HcmabLru(const Place& place) : keeps_all_(place.is_root), limit_(place.limit) {}

  // The contract is in cache/policy.h. put() stages the pair, take_stage() returns the staged ones
  // for a fence, and commit() stores the pairs of all nodes that the release brings; commit(),
  // fence_done() and answer_passes() then evict down to the bound above. The root also keeps what
  // passes, and take_release() returns there what has changed. get() reports a missing pair as
  // elsewhere if this node has evicted any, else as absent.
  bool put(std::string_view key, std::string_view value) override;
  bool put_from_child(std::string_view, std::string_view) override { return false; }
  std::string take_stage() override { return store_.take_stage(); }
  void aggregate_passes(std::string_view pairs) override;
  bool wants_release() const override { return true; }
  bool release_carries_pairs() const override { return true; }
  std::string take_release() override;
  void commit(std::string_view pairs) override;
  void fence_done(std::uint64_t taken) override;
  void group_fence_done(std::uint64_t) override {}
  void evict_no_more() override { keeps_all_ = true; }
  Lookup get(std::string_view key, bool below) override;
  void answer_passes(std::string_view key, std::string_view value) override;
  Store& table() override { return store_; }
  Usage usage() const override { return store_.usage(); }

 private:
  // Evicts pairs until the bound above holds. Does nothing if keeps_all_ is true.
  void trim();

  bool keeps_all_;       // at the root, or after evict_no_more()
  std::uint64_t limit_;  // 0: the bound is the largest stage
  Store store_;
  // Bytes of keys and values in the releases since the last fence_done().
  std::uint64_t stage_bytes_ = 0;
  // The keys that changed at the root since the last fence of the whole job.
  std::set<std::string, std::less<>> changed_;
  std::uint64_t largest_stage_ = 0;  // the most that stage_bytes_ was
  // Bytes that this node's ranks have put since the last fence_done(). They extend the bound:
  // otherwise a stage that comes in several pieces would evict its first pairs for pairs that its
  // last pieces bring back.
  std::uint64_t own_bytes_ = 0;
  bool evicted_ = false;  // so a miss asks further up
};

}  // namespace scela::cache
