// DHT: the pairs are spread over the nodes by hash. A node holds O(p/n) pairs of a stage, and a
// bounded cache of copies. make_policy() (policy.h) makes it; one thread at a time uses it.
//
// Every key has an owner, which is a rank; the node of that rank keeps the pair for good. A put is
// staged on its own node. A fence sends it to its owner, and the fence's release carries no pairs
// (a lazy fence). A get that finds no pair on this node goes towards the owner. Every agent that
// passes the answer on keeps a copy, and evicts the least recently used copy first. A copy lasts
// until the next fence at most, or until the pair itself passes on its way to the owner. So no node
// holds an old value after a fence, and no node has to be told which values changed. The root has
// no ranks: it owns no keys, and holds copies only.
#pragma once

#include <string>
#include <string_view>

#include "cache/policy.h"
#include "cache/store.h"

namespace scela::cache {

// Bytes of copies, if make_policy was given no limit: a few thousand business cards of MPI
// libraries. With a smaller value an agent that forwards many questions asks for a key again. A
// larger value takes more memory on every node.
inline constexpr std::uint64_t kDefaultCopies = std::uint64_t{256} * 1024;

// Returns which of `ranks` ranks owns a key: FNV-1a of 64 bits over the key's bytes, mixed by the
// last steps of splitmix64, modulo `ranks`. The mixing is needed because the low bits of FNV-1a
// depend only on the low bits of the key's bytes. Every agent must compute the same owner. Requires
// ranks > 0.
Rank owner_of(std::string_view key, Rank ranks);

class Dht final : public Policy {
 public:
  // Uses own_ranks, ranks and limit of `place`.
  explicit Dht(const Place& place)
      : own_(place.own_ranks),
        ranks_(place.ranks),
        limit_(place.limit > 0 ? place.limit : kDefaultCopies) {}

  // The contract is in cache/policy.h. put() keeps a pair that this node owns and stages another
  // one for the next fence; pair_passes() keeps pairs that have come to their owner, and drops an
  // older copy of another. A fence that is complete removes all copies, and what this node has
  // sent. get() finds pairs and copies of this node; answer_passes() keeps a copy. No pair is sent
  // by itself, and a release carries nothing.
  bool put(std::string_view key, std::string_view value) override;
  bool put_from_child(std::string_view, std::string_view) override { return false; }
  std::string take_stage() override { return store_.take_stage(); }
  void aggregate_passes(std::string_view) override {}  // pair_passes() is told of each
  bool wants_release() const override { return false; }
  bool release_carries_pairs() const override { return false; }
  std::string take_release() override { return {}; }
  void commit(std::string_view) override {}
  void fence_done(std::uint64_t taken) override;
  void group_fence_done(std::uint64_t taken) override;
  // A job with this policy ends with the first agent that is lost.
  void evict_no_more() override {}
  std::optional<Rank> owner(std::string_view key) const override;
  void pair_passes(std::string_view key, std::string_view value, Stamp stamp) override;
  Lookup get(std::string_view key, bool below) override;
  void answer_passes(std::string_view key, std::string_view value) override;
  Store& table() override { return store_; }
  Usage usage() const override { return store_.usage(); }

 private:
  // Returns true if a rank of this node owns the key.
  bool owns(std::string_view key) const;

  RankSet own_;          // this node's ranks
  Rank ranks_;           // number of the job's ranks
  std::uint64_t limit_;  // most bytes of copies
  Store store_;
};

}  // namespace scela::cache
