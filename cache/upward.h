// HCS and HCMA: a pair that is not on this node is asked for further up (thesis section 3, Table
// 3.1).
//
//   hcs   every put goes up at once, and every level caches it: O(p*n) messages at the root.
//   hcma  puts stay; at a fence every agent sends one aggregate up, and every level caches it.
//
// In both policies the root holds every pair, O(p*n), and evicts none. Every other agent holds the
// pairs of its own subtree and what was asked for through it. It may evict what has reached the
// root (make_policy's limit).
//
// The thesis does not treat a pair that replaces another: copies cached elsewhere would stay. So
// the root remembers the keys that changed their value since the last fence of the whole job. Each
// release carries these keys, and every agent that holds a copy renews it. If no key changed, the
// release is empty. A value that reached the root after a newer one counts as changed too, because
// agents below may have taken it. For the same reason no agent is given a copy of a pair that the
// root has not been sent yet.
//
// make_policy() (policy.h) makes these objects; one thread at a time uses one.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "cache/policy.h"
#include "cache/store.h"

namespace scela::cache {

// The part that both policies share.
class Upward : public Policy {
 public:
  // Uses is_root and limit of `place`.
  explicit Upward(const Place& place)
      : is_root_(place.is_root), limit_(place.is_root ? 0 : place.limit) {}

  // The contract is in cache/policy.h. take_stage() returns the staged pairs for a fence.
  // take_release() returns the pairs that have changed here, and commit() renews the copies of such
  // pairs. get() reports a missing pair as elsewhere, and at the root as absent. answer_passes()
  // keeps a copy. commit(), fence_done() and answer_passes() evict down to the limit.
  std::string take_stage() final { return store_.take_stage(); }  // hcs: empty
  bool wants_release() const final { return true; }
  bool release_carries_pairs() const final { return false; }
  std::string take_release() final;
  void commit(std::string_view pairs) final;
  void fence_done(std::uint64_t taken) final;
  void group_fence_done(std::uint64_t) final {}
  void evict_no_more() final { limit_ = 0; }
  Lookup get(std::string_view key, bool below) final;
  void answer_passes(std::string_view key, std::string_view value) final;
  Store& table() final { return store_; }
  Usage usage() const final { return store_.usage(); }

 protected:
  // Stores a pair that has come from a child, and notes its key for the releases if it met another
  // value.
  void pass(std::string_view key, std::string_view value, Stamp stamp);
  // Evicts settled pairs until the table is within the limit. Does nothing without a limit.
  void trim();
  bool is_root() const { return is_root_; }
  Store& store() { return store_; }
  // Makes every release carry this key's value until a fence of the whole job is complete.
  void changed(std::string_view key) { changed_.emplace(key); }

 private:
  bool is_root_;
  std::uint64_t limit_;  // 0: none
  Store store_;
  // The keys that changed their value here.
  std::set<std::string, std::less<>> changed_;
};

// Sends every put up at once (see the table above).
class Hcs final : public Upward {
 public:
  using Upward::Upward;
  // The contract is in cache/policy.h. Both store the pair and return true if it must be sent up,
  // that is, on every node but the root.
  bool put(std::string_view key, std::string_view value) override;
  bool put_from_child(std::string_view key, std::string_view value) override;
  void aggregate_passes(std::string_view) override {}
};

// Sends the puts of a node up together, at a fence.
class Hcma final : public Upward {
 public:
  using Upward::Upward;
  // The contract is in cache/policy.h. put() stages the pair for the next fence and returns false.
  // aggregate_passes() stores the pairs of the subtree.
  bool put(std::string_view key, std::string_view value) override;
  bool put_from_child(std::string_view, std::string_view) override { return false; }
  void aggregate_passes(std::string_view pairs) override;
};

}  // namespace scela::cache
