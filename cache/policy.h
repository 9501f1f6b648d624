// A node's cache of key-value pairs, as a policy: what is kept here, what travels, who is asked.
//
// Pure: an agent tells the policy what happens and carries out what it answers. One object per
// agent and key-value space. The four policies of the founding thesis (chapter 3, Table 3.1),
//
//   policy      put                      fence                              get
//   hcs         cached, forwarded up     nothing                            local, else up
//   hcma        kept                     one aggregate up                   local, else up
//   hcmab       kept                     one aggregate up, all of it down   always local
//   hcmab-lru   as hcmab                 as hcmab                           local, else up
//
// and one more, in which every key has an owner:
//
//   dht         kept until a fence       to its owner                       local, else its owner
//
// A pair put by a rank is visible on its own node at once and everywhere after the next fence; if
// ranks of several nodes put one key between two fences, one of their values is everybody's after
// the second. Where one was put behind a fence that the other was brought by, it wins (Stamp).
// Aggregates are sequences of pairs in the form of append_pair(); they may be cut between pairs.
// What the table does not say: docs/caches.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/rank_set.h"

namespace scela::cache {

// As they are named on the command line.
enum class PolicyKind : std::uint8_t { hcs, hcma, hcmab, hcmab_lru, dht };
inline constexpr int kPolicyKinds = 5;
std::string_view name_of(PolicyKind kind);

// Where in the tree a policy works, and with how much.
struct Place {
  bool is_root = false;  // nobody can be asked above; evicts nothing
  // Bytes of keys and values to hold at most, beside what may not be evicted; 0: hcmab-lru as much
  // as one stage, others everything. hcmab, which answers everything itself, takes no notice.
  // dht: of copies that others own; 0: kDefaultCopies.
  std::uint64_t limit = 0;
  // dht: of this node, and how many the job has.
  RankSet own_ranks = {};
  Rank ranks = 0;
};

// When a pair was put, on a clock that every node has and that fences set (Store): of two values of
// a key the one with the larger stamp is the newer. 0 for all in jobs without fences of groups.
using Stamp = std::uint32_t;

// pair := head:varint [stamp:varint32] key-bytes value:text; head is twice the key's length, plus
// one if there is a stamp, which is not 0.
void append_pair(std::string& out, std::string_view key, std::string_view value, Stamp stamp = 0);
// Calls `each` for every pair; false if the bytes are malformed (pairs before the fault were seen).
bool for_each_pair(std::string_view aggregate,
                   const std::function<void(std::string_view key, std::string_view value)>& each);
bool for_each_stamped(
    std::string_view aggregate,
    const std::function<void(std::string_view key, std::string_view value, Stamp stamp)>& each);

// Calls `each` with runs of whole pairs of at most `most` bytes, or one larger pair. Malformed
// bytes end it.
void for_each_piece(std::string_view aggregate, std::size_t most,
                    const std::function<void(std::string_view pairs)>& each);

enum class Found : std::uint8_t {
  here,       // value is the answer
  elsewhere,  // not here; an agent further up may hold it, or one on the way to Policy::owner()
  absent,     // nobody has it: this cache is complete, or this is the root or the owner
};

struct Lookup {
  Found found = Found::absent;
  std::string_view value;  // borrowed until the next call that is not const
};

struct Usage {
  std::uint64_t pairs = 0;
  std::uint64_t bytes = 0;  // keys and values, without the table's own overhead
};

class Store;

class Policy {
 public:
  virtual ~Policy() = default;

  // A rank of this node published a pair. True: it must travel up now.
  virtual bool put(std::string_view key, std::string_view value) = 0;
  // A pair of a child passes on its way up. True: forward it.
  virtual bool put_from_child(std::string_view key, std::string_view value) = 0;

  // The node's own ranks have all entered a fence: the aggregate of what they put and no fence of
  // the whole job has brought to everybody yet. Empty where puts have travelled already.
  virtual std::string take_stage() = 0;
  // Part of a child's aggregate passes on its way up.
  virtual void aggregate_passes(std::string_view pairs) = 0;
  // Is the release to be committed even where no rank of this node takes part? Others ask here.
  virtual bool wants_release() const = 0;
  // Where the aggregates turn round: does the release carry them to everybody?
  virtual bool release_carries_pairs() const = 0;
  // Where the aggregates turn round, when all have come: further pairs that the release must carry.
  virtual std::string take_release() = 0;
  // The fence is complete; `pairs` is one piece of what the release carried (possibly many calls).
  virtual void commit(std::string_view pairs) = 0;
  // Which take_stage() was the last; fence_done() is told what its fence had taken.
  virtual std::uint64_t taken() const = 0;
  // A fence of the whole job is complete, and what it carried committed.
  virtual void fence_done(std::uint64_t taken) = 0;
  // The same of a fence in which not everybody had a part.
  virtual void group_fence_done(std::uint64_t taken) = 0;

  // From now on aggregates turn round here, as the way to the root was lost: whoever below has
  // evicted something asks here.
  virtual void evict_no_more() = 0;

  // The rank whose node owns the key; none: who is further up knows more.
  virtual std::optional<Rank> owner(std::string_view) const { return std::nullopt; }
  // A pair has come to its owner, or by on its way there.
  virtual void pair_passes(std::string_view, std::string_view, Stamp) {}

  // `below`: asked by another agent, which will keep the answer.
  virtual Lookup get(std::string_view key, bool below) = 0;
  // The answer to a question of get() passes on its way to who has asked.
  virtual void answer_passes(std::string_view key, std::string_view value) = 0;

  // What is here, for who answers gets of this node's ranks from a copy of it.
  virtual Store& table() = 0;
  virtual Usage usage() const = 0;
};

// Whether agents of such a job evict pairs by their use.
bool evicts(PolicyKind kind, std::uint64_t limit);

std::unique_ptr<Policy> make_policy(PolicyKind kind, const Place& place);
using PolicyMaker = std::function<std::unique_ptr<Policy>(PolicyKind kind, const Place& place)>;

}  // namespace scela::cache
