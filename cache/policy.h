// A node's cache of key-value pairs, as a policy: which pairs are kept, which travel, and which
// agent is asked for others.
//
// A policy is pure: an agent calls it for each event and carries out what it returns. It has no
// lock, so one thread at a time uses an object. Each agent has one object for its job
// (nla/core/kvs/bulletin.h). An agent is the process of a job on one node; agents form a tree below
// the root, which is in scela-run. "Up" is towards the root.
//
// A fence sends pairs up, and its completion, the release, comes down from the agent where the
// aggregates turn round: the root, or an agent that has lost its connection to the root.
//
// The four policies of the founding thesis (chapter 3, Table 3.1) are:
//
//   policy      put                      fence                              get
//   hcs         cached, forwarded up     nothing                            local, else up
//   hcma        kept                     one aggregate up                   local, else up
//   hcmab       kept                     one aggregate up, all of it down   always local
//   hcmab-lru   as hcmab                 as hcmab                           local, else up
//
// In one more policy every key has an owner:
//
//   dht         kept until a fence       to its owner                       local, else its owner
//
// A pair that a rank puts is visible on its own node at once, and everywhere after the next fence.
// If ranks of several nodes put one key between two fences, all nodes have the same one of these
// values after the second fence. If one value was put behind a fence that brought the other, the
// later value wins (Stamp). An aggregate is a sequence of pairs in the form of append_pair(); it
// may be cut between pairs. docs/design/caches.md says what the table does not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/rank_set.h"

namespace scela::cache {

// The policies, as the command line names them.
enum class PolicyKind : std::uint8_t { hcs, hcma, hcmab, hcmab_lru, dht };
inline constexpr int kPolicyKinds = 5;
// Returns the policy's name on the command line, such as "hcmab-lru". It never becomes invalid.
std::string_view name_of(PolicyKind kind);

// The place in the tree where a policy works, and the memory that it may use.
struct Place {
  // True at the root of the tree: no agent above it can be asked, and it evicts nothing.
  bool is_root = false;
  // The most bytes of keys and values to hold, beside what may not be evicted. If it is 0,
  // hcmab-lru holds as much as one stage, and the other policies hold everything. hcmab answers
  // every get itself and ignores the limit. For dht it bounds the copies of pairs that other nodes
  // own; if it is 0, the bound is kDefaultCopies.
  std::uint64_t limit = 0;
  // For dht only: the ranks of this node, and the number of ranks of the job.
  RankSet own_ranks = {};
  Rank ranks = 0;
};

// The time at which a pair was put, on a clock that every node has and that fences set (Store). Of
// two values of a key the one with the larger stamp is the newer. All stamps are 0 in a job in
// which no group has fences.
using Stamp = std::uint32_t;

// Appends one pair to the aggregate `out`. Without a stamp (0) the pair takes fewer bytes. pair :=
// head:varint [stamp:varint32] key-bytes value:text. The head is twice the key's length, plus one
// if there is a stamp. A stamp on the wire is not 0.
void append_pair(std::string& out, std::string_view key, std::string_view value, Stamp stamp = 0);
// Calls `each` for every pair of the aggregate, in order; for_each_stamped() also passes the stamp,
// 0 if the pair has none. Returns false if the bytes are malformed: `each` was then called for the
// pairs before the fault.
bool for_each_pair(std::string_view aggregate,
                   const std::function<void(std::string_view key, std::string_view value)>& each);
bool for_each_stamped(
    std::string_view aggregate,
    const std::function<void(std::string_view key, std::string_view value, Stamp stamp)>& each);

// Cuts the aggregate between pairs, so that it can be sent in several messages. Calls `each` with
// one part after the other: each has whole pairs of at most `most` bytes together, or one larger
// pair. If the bytes are malformed, the part with the pairs before the fault is the last one.
void for_each_piece(std::string_view aggregate, std::size_t most,
                    const std::function<void(std::string_view pairs)>& each);

// The outcome of a lookup.
enum class Found : std::uint8_t {
  here,  // value is the answer
  // The pair is not here. An agent further up may hold it, or one on the way to Policy::owner().
  elsewhere,
  // No agent has the pair: this cache is complete, or this is the root or the owner's node.
  absent,
};

// The result of PairPolicy::get().
struct Lookup {
  Found found = Found::absent;
  // If it is here: valid until the next call of the policy that is not const. Else empty.
  std::string_view value;
};

// The pairs that a table holds.
struct Usage {
  std::uint64_t pairs = 0;
  std::uint64_t bytes = 0;  // keys and values, without overhead
};

class Store;

// Decides about single pairs: those that ranks put and get, and those that pass this node alone.
class PairPolicy {
 public:
  virtual ~PairPolicy() = default;

  // Stores a pair that a rank of this node has put. Returns true if the agent must send it to its
  // parent now, and false if a fence carries it or it needs no sending.
  virtual bool put(std::string_view key, std::string_view value) = 0;
  // Takes note of a single pair that a child agent has sent up, and may keep a copy. Returns true
  // if the agent must send it on to its parent.
  virtual bool put_from_child(std::string_view key, std::string_view value) = 0;

  // Returns the rank that owns the key: questions for it are sent towards that rank's node. Returns
  // std::nullopt if the policy has no owners; questions are then sent up.
  virtual std::optional<Rank> owner(std::string_view) const { return std::nullopt; }
  // Takes note of a pair that a fence carries to its owner. The owner's node stores it; an agent on
  // the way drops an older copy. A policy without owners does nothing.
  virtual void pair_passes(std::string_view, std::string_view, Stamp) {}

  // Looks a key up on this node. `below` is true if another agent asks, which keeps a copy of the
  // answer, and false if a rank of this node does.
  virtual Lookup get(std::string_view key, bool below) = 0;
  // Takes note of a pair that was found elsewhere and passes here on its way to the agent that
  // asked, and may keep a copy. The value is ignored if this node has one.
  virtual void answer_passes(std::string_view key, std::string_view value) = 0;
};

// Decides what a fence carries: the aggregates that go up, and the releases that come down.
class FencePolicy {
 public:
  virtual ~FencePolicy() = default;

  // Called when the ranks of this node that take part in a fence have all entered it. Returns the
  // aggregate of the pairs that this node's ranks have put and no fence of the whole job has
  // brought to all nodes yet. It is empty if put() has sent them all.
  virtual std::string take_stage() = 0;
  // Takes note of `pairs`, a part of a child's aggregate on its way up, and may keep copies. The
  // caller sends it on in any case.
  virtual void aggregate_passes(std::string_view pairs) = 0;
  // Returns true if the agent must call commit() also for fences in which no rank of its node takes
  // part, because other agents ask it for pairs.
  virtual bool wants_release() const = 0;
  // Returns true if the release carries the aggregates of the fence to all its nodes. The agent
  // where the aggregates turn round calls this.
  virtual bool release_carries_pairs() const = 0;
  // Called at the agent where the aggregates turn round, when all have arrived. Returns an
  // aggregate of further pairs that the release must carry, such as values that have changed; often
  // empty.
  virtual std::string take_release() = 0;
  // Stores pairs that the release of a fence has brought. `pairs` is one part of them in the form
  // of an aggregate; the agent calls this for each part, before fence_done() or group_fence_done().
  virtual void commit(std::string_view pairs) = 0;
  // Called when a fence of the whole job is complete and all its parts were committed: pairs that
  // this node has sent may be evicted from now on. `taken` is the number of the take_stage() that
  // its pairs came from (Policy::taken()).
  virtual void fence_done(std::uint64_t taken) = 0;
  // Does what fence_done() does, for a fence in which only some ranks of the job took part.
  virtual void group_fence_done(std::uint64_t taken) = 0;

  // Makes this policy evict nothing from now on. Called if the agent has lost its connection to the
  // root for good, so that aggregates turn round here and agents below ask here for pairs that they
  // have evicted.
  virtual void evict_no_more() = 0;
};

// The two parts of a policy, and the pairs that they decide about.
class Policy : public PairPolicy, public FencePolicy {
 public:
  // The pairs of this node. A Mirror of this table answers gets of this node's ranks from its copy.
  virtual Store& table() = 0;
  // Returns the number of the last take_stage(), from 1; 0 before the first. The caller keeps it
  // and passes it to fence_done() of the same fence.
  std::uint64_t taken();
  // Returns the pairs and bytes that table() holds now.
  virtual Usage usage() const = 0;
};

// Returns true if agents of a job with this policy evict pairs by their use. `limit` is
// Place::limit, in bytes.
bool evicts(PolicyKind kind, std::uint64_t limit);

// Makes the policy of one agent, without pairs.
std::unique_ptr<Policy> make_policy(PolicyKind kind, const Place& place);
// A function that may stand in for make_policy(), as tests and the simulator need it.
using PolicyMaker = std::function<std::unique_ptr<Policy>(PolicyKind kind, const Place& place)>;

}  // namespace scela::cache
