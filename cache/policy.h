// A node's cache of key-value pairs, as a policy: which pairs are kept, which travel, and which
// agent is asked for others.
//
// A policy is pure: an agent tells it what happens and carries out what it answers. It has no lock,
// so one thread at a time uses an object. There is one object for each agent and key-value space.
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
std::string_view name_of(PolicyKind kind);

// The place in the tree where a policy works, and the memory that it may use.
struct Place {
  // No agent above the root can be asked, and the root evicts nothing.
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

// Appends one pair to an aggregate. pair := head:varint [stamp:varint32] key-bytes value:text. The
// head is twice the key's length, plus one if there is a stamp. A stamp on the wire is not 0.
void append_pair(std::string& out, std::string_view key, std::string_view value, Stamp stamp = 0);
// Calls `each` for every pair. Returns false if the bytes are malformed; the pairs before the fault
// were seen.
bool for_each_pair(std::string_view aggregate,
                   const std::function<void(std::string_view key, std::string_view value)>& each);
bool for_each_stamped(
    std::string_view aggregate,
    const std::function<void(std::string_view key, std::string_view value, Stamp stamp)>& each);

// Calls `each` with runs of whole pairs, each of at most `most` bytes or of one larger pair.
// Malformed bytes end the calls.
void for_each_piece(std::string_view aggregate, std::size_t most,
                    const std::function<void(std::string_view pairs)>& each);

enum class Found : std::uint8_t {
  here,  // value is the answer
  // The pair is not here. An agent further up may hold it, or one on the way to Policy::owner().
  elsewhere,
  // No agent has the pair: this cache is complete, or this is the root or the owner's node.
  absent,
};

struct Lookup {
  Found found = Found::absent;
  std::string_view value;  // until the next call that is not const
};

struct Usage {
  std::uint64_t pairs = 0;
  std::uint64_t bytes = 0;  // keys and values, without overhead
};

class Store;

// Decides about single pairs: those that ranks put and get, and those that pass this node alone.
class PairPolicy {
 public:
  virtual ~PairPolicy() = default;

  // A rank of this node published a pair. Returns true if the pair must travel up now.
  virtual bool put(std::string_view key, std::string_view value) = 0;
  // A pair of a child passes on its way up. Returns true if the agent must forward it.
  virtual bool put_from_child(std::string_view key, std::string_view value) = 0;

  // Returns the rank that owns the key, or std::nullopt if an agent further up knows more. A policy
  // without owners returns std::nullopt for every key.
  virtual std::optional<Rank> owner(std::string_view) const { return std::nullopt; }
  // A pair has come to its owner, or passes here on its way to the owner.
  virtual void pair_passes(std::string_view, std::string_view, Stamp) {}

  // Looks a key up. `below` is true if another agent asks, which will keep the answer.
  virtual Lookup get(std::string_view key, bool below) = 0;
  // The answer to a question of get() passes on its way to the agent that asked.
  virtual void answer_passes(std::string_view key, std::string_view value) = 0;
};

// Decides what a fence carries: the aggregates that go up, and the releases that come down.
class FencePolicy {
 public:
  virtual ~FencePolicy() = default;

  // The node's own ranks have all entered a fence. Returns the aggregate of what they put and no
  // fence of the whole job has brought to all nodes yet. It is empty if puts have travelled
  // already.
  virtual std::string take_stage() = 0;
  // A part of a child's aggregate passes on its way up. The policy may keep pairs of it; the caller
  // forwards it in any case.
  virtual void aggregate_passes(std::string_view pairs) = 0;
  // Returns true if an agent commits a release even if no rank of its node takes part in the fence,
  // because other agents ask it.
  virtual bool wants_release() const = 0;
  // Asked at the agent where the aggregates turn round. Returns true if the release carries the
  // aggregates to all nodes.
  virtual bool release_carries_pairs() const = 0;
  // Called at the agent where the aggregates turn round, when all have come. Returns further pairs
  // that the release must carry.
  virtual std::string take_release() = 0;
  // The fence is complete. `pairs` is one piece of what the release carried; there may be many
  // calls.
  virtual void commit(std::string_view pairs) = 0;
  // A fence of the whole job is complete, and what it carried is committed. `taken` is the number
  // of the take_stage() that its pairs came from (Policy::taken).
  virtual void fence_done(std::uint64_t taken) = 0;
  // A fence in which only some ranks took part is complete, and what it carried is committed.
  virtual void group_fence_done(std::uint64_t taken) = 0;

  // From now on aggregates turn round here, because the way to the root was lost. Agents below that
  // have evicted a pair ask here.
  virtual void evict_no_more() = 0;
};

// The two parts of a policy, and the pairs that they decide about.
class Policy : public PairPolicy, public FencePolicy {
 public:
  // The pairs of this node. A Mirror of this table answers gets of this node's ranks from its copy.
  virtual Store& table() = 0;
  // Returns the number of the last take_stage(). fence_done() is told the number that its fence
  // had.
  std::uint64_t taken();
  virtual Usage usage() const = 0;
};

// Returns true if agents of a job with this policy and limit evict pairs by their use.
bool evicts(PolicyKind kind, std::uint64_t limit);

std::unique_ptr<Policy> make_policy(PolicyKind kind, const Place& place);
using PolicyMaker = std::function<std::unique_ptr<Policy>(PolicyKind kind, const Place& place)>;

}  // namespace scela::cache
