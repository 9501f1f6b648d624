// Collective operations over the tree: barrier, fence, gather, broadcast, allgather, scatter,
// alltoall.
//
// One engine for all (decision D5, thesis section 2.2.3). Contributions travel up as records and
// turn round at the root of the tree; results travel down. Records are self-contained and at most a
// piece long, so an agent forwards what has arrived before it holds the rest (cut through), merges
// children by appending, and holds at most one piece per operation on the way up:
//
//   record := source:varint destination+1:varint (0: every member) total:varint offset:varint
//   bytes:text
//
// A fence carries the cache's pairs instead of records, packed where that saves bytes: where a
// piece begins its way, up or down, and not again by who forwards it. Operations synchronise: the
// last piece goes down only after every member has entered, so a set has one operation in flight
// and memory is bounded. A member that ends without entering is "missing": the operation completes
// with an error for the others instead of hanging. A subtree whose members have all ended never
// hears of an operation by itself, so a child that has told of ended ranks is sent an empty piece
// (a probe) when one begins. Every operation carries its set and its number in that set.
//
// An agent that loses its parent and may be adopted (docs/protocol.md) turns the operations of its
// own subtree round from then on: those with a member outside fail, as do those that were under way
// above. To its new parent the subtree's members are missing in every operation.
//
// A fence carries what the node has put since the last fence of the whole job that succeeded: one
// that fails, or that not everybody takes part in, must not make pairs invisible to the next one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cache/policy.h"
#include "nla/core/children.h"
#include "nla/core/context.h"
#include "nla/core/request.h"

namespace scela::nla {

class Bulletin;

class Collectives {
 public:
  // `policy` takes part in fences, and `bulletin` brings pairs to their owners.
  Collectives(Context& context, Children& children) : context_(context), children_(children) {}
  void use(cache::Policy* policy, Bulletin* bulletin) {
    policy_ = policy;
    bulletin_ = bulletin;
  }

  void ask(Rank rank, RequestId id, const ask::Collective& call);
  void ranks_ended(const RankSet& ranks);
  // No rank of the child's subtree will enter anything any more; what it said before counts.
  void child_ended(const Child& child);
  // Child::some_ended was set.
  void child_has_ended_ranks();
  // The parent was lost, and with it the way to the ranks outside the subtree.
  void cut_off();

  // False: the message breaks the protocol; the link must end.
  bool receive_up(Child& child, const msg::CollectiveUp& message);
  bool receive_down(const msg::CollectiveDown& message);

  // A fence was committed since the last call (waiting gets may be answerable).
  bool take_committed() { return std::exchange(committed_, false); }
  std::uint64_t held_bytes() const;

 private:
  struct Assembly {  // one source's payload for one destination
    std::uint64_t total = 0;
    std::uint64_t have = 0;
    Chunk whole;          // when it came in one piece
    std::string partial;  // else
  };
  struct Piece {
    Chunk bytes;
    bool packed = false;  // a fence's (packing.h)
  };
  struct Operation {
    CollectiveKind kind = CollectiveKind::barrier;
    Rank root = 0;
    bool known = false;                 // kind and root were said by somebody
    RankSet waiting_for;                // local members that have not entered
    std::vector<LinkId> open_children;  // with members, their last piece has not come
    std::vector<LinkId> member_children;
    RankSet missing;
    std::string mismatch;
    std::string pending;  // records on their way up
    bool sent_last = false;
    bool went_up = false;  // in part at least
    std::vector<LinkId> probed;
    LinkId begun_by = kParentLink;  // the child that it counts against; kParentLink: none
    std::map<LinkId, std::uint64_t> contributed;  // bytes
    std::uint64_t carried = 0;  // fence: cache::Policy::taken() of what it took along
    cache::Stamp clock = 0;     // fence: the latest of those who have contributed
    std::vector<std::pair<Rank, RequestId>> callers;
    std::vector<Piece> pieces;  // of the result, for this node
  };
  using Operations = std::map<CollectiveId, Operation>;

  // What an operation takes at an agent beside its set, about.
  static constexpr std::uint64_t kBegunCost = 1536;
  // What an operation's set takes, about.
  static std::uint64_t bytes_of(const CollectiveId& id) {
    return 256 + id.set.ranges().size() * sizeof(RankSet::Range);
  }
  bool may_number(const ask::Collective& call);
  bool may_begin(Child& child, const CollectiveId& id);
  bool may_contribute(Operation& op, Child& child, std::size_t bytes) const;
  Operations::iterator open(const CollectiveId& id);
  bool turns_here() const { return context_.is_root() || cut_off_; }
  void agree(Operation& op, CollectiveKind kind, Rank root, const std::string& who);
  void leave_outside(const CollectiveId& id, Operation& op);
  void enter(Operations::iterator at, const RankSet& ranks);
  void probe(const CollectiveId& id, Operation& op);
  void contribute(Operation& op, const CollectiveId& id, const ask::Collective& call, Rank rank);
  void add_record(Operation& op, const CollectiveId& id, Rank source, std::uint32_t destination,
                  const Chunk& payload);
  void take_stage(Operation& op, const CollectiveId& id);
  void add_pairs(Operation& op, const CollectiveId& id, std::string_view pairs);
  void flush(Operation& op, const CollectiveId& id);
  void advance(Operations::iterator at);
  bool goes_down(const Operation& op) const;
  static cache::Stamp clock_of(const Operation& op) {
    return op.kind == CollectiveKind::fence ? op.clock : 0;
  }
  static Piece packed(const Operation& op, Chunk records);
  void piece_up(Operation& op, const CollectiveId& id, Piece piece, bool last);
  bool piece_down(Operations::iterator at, const Piece& piece, bool last);
  bool split_down(Operation& op, const CollectiveId& id, const Chunk& records);
  void forward_down(Operation& op, const CollectiveId& id, const Piece& piece, bool last);
  void commit(Operation& op, const CollectiveId& id);
  void complete(Operations::iterator at);
  void answer(const CollectiveId& id, Operation& op);

  Context& context_;
  Children& children_;
  cache::Policy* policy_ = nullptr;
  Bulletin* bulletin_ = nullptr;
  Operations operations_;
  RankSet ended_ranks_;  // of this node
  std::map<std::pair<RankSet, std::uint32_t>, std::map<Rank, std::uint64_t>> next_seq_;  // set, tag
  std::uint64_t numbered_bytes_ = 0;  // what next_seq_ takes, about
  bool committed_ = false;
  bool cut_off_ = false;
  bool probing_ = false;  // some child has ended ranks
};

}  // namespace scela::nla
