// Collective operations over the tree: barrier, fence, gather, broadcast, allgather, scatter,
// alltoall. The agent's core uses this part, and one thread at a time calls it.
//
// One engine carries out all of them (decision D5, thesis section 2.2.3). Contributions travel up
// as records and turn round at the root of the tree; results travel down. The members
// of an operation are the ranks of its set. A record is self-contained and at most a piece
// (kMaxPiece bytes) long. So an agent forwards what has arrived before it holds the rest (cut
// through), and merges children by appending. It holds at most one piece for each operation on the
// way up:
//
//   record := source:varint destination+1:varint (0: every member) total:varint offset:varint
//   bytes:text
//
// A fence carries the cache's pairs instead of records. They are packed if that saves bytes. A
// piece is packed where it begins its way, up or down, and the agents that forward it do not pack
// it again. Operations synchronise: the last piece goes down only after every member has entered.
// So a set has one operation in flight and memory is bounded. A member that ends without entering
// is "missing": the operation completes with an error for the others instead of hanging. A subtree
// with ended members only never hears of an operation by itself. So a child that has reported
// ended ranks is sent an empty piece (a probe) when an operation begins. Every operation carries
// its set and its number in that set.
//
// An agent that loses its parent may be adopted (docs/design/protocol.md). From then on it turns
// the operations of its own subtree round itself. Operations with a member outside fail, and so do
// those that were in flight above. To the new parent, the subtree's members are missing in every
// operation.
//
// A fence carries what the node has put since the last fence of the whole job that succeeded. A
// fence that fails, or that not every rank takes part in, must not make pairs invisible to the next
// one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cache/policy.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"
#include "nla/core/wire/request_names.h"

namespace scela::nla {

class Bulletin;

// The collective operations of one agent, on behalf of its ranks and of its children.
class Collectives {
 public:
  // The references are borrowed.
  Collectives(Context& context, Children& children) : context_(context), children_(children) {}
  // `policy` takes part in fences, and `bulletin` brings pairs to their owners. The caller owns
  // both and keeps them alive. To be called before the first operation.
  void use(cache::Policy* policy, Bulletin* bulletin) {
    policy_ = policy;
    bulletin_ = bulletin;
  }

  // Lets a rank of this node enter its next operation of the set and tag. An action::Reply with
  // `id` answers it when the operation is complete, or at once if it is refused.
  void ask(Rank rank, RequestId id, const ask::Collective& call);
  // Call it if these ranks of this node ended. They count as missing in every operation that they
  // have not entered.
  void ranks_ended(const RankSet& ranks);
  // Call it if no rank of the child's subtree will enter anything any more. They count as missing.
  // Contributions that the child sent before count.
  void child_ended(const Child& child);
  // Call it when Child::some_ended was set for a child. Sends the probes for open operations to the
  // children that have ended ranks.
  void child_has_ended_ranks();
  // Call it if the parent was lost. Fails the operations that have members outside the subtree.
  // From now on, operations of the subtree are completed at this agent.
  void cut_off();

  // Take a piece from a child or from the parent. Return false if the message breaks the protocol;
  // the caller ends the link then.
  bool receive_up(Child& child, const msg::CollectiveUp& message);
  bool receive_down(const msg::CollectiveDown& message);

  // Returns true if a fence was committed since the last call. The caller then calls
  // Bulletin::fence_passed().
  bool fetch_committed() { return std::exchange(committed_, false); }
  // Returns the bytes of payload of operations that are not over.
  std::uint64_t held_bytes() const;

 private:
  // The payload of one source for one destination, put together from its records.
  struct Assembly {
    std::uint64_t total = 0;  // bytes of the whole payload
    std::uint64_t have = 0;   // bytes that have come
    Chunk whole;              // if it came in one piece
    std::string partial;      // if it came in several pieces
  };
  // A piece of an operation's data, as it travels.
  struct Piece {
    Chunk bytes;
    bool packed = false;  // only of a fence (nla/core/wire/packing.h)
  };
  // One operation that is not over, at this agent.
  struct Operation {
    CollectiveKind kind = CollectiveKind::barrier;
    Rank root = 0;
    bool known = false;  // kind and root are set
    // The members on this node that have neither entered nor ended.
    RankSet waiting_for;
    // The children with members that have not sent their last piece.
    std::vector<LinkId> open_children;
    // All children with members that serve: results go down to these.
    std::vector<LinkId> member_children;
    RankSet missing;
    // The text of the error that all members get, most often how they disagree. Empty: no error.
    std::string mismatch;
    std::string pending;  // bytes for the next piece up
    // All members below have entered or are missing. The last piece went up, or down from here.
    bool sent_last = false;
    bool went_up = false;        // some piece was sent up
    std::vector<LinkId> probed;  // children that were sent a probe
    // The operation counts against this child's bound; kParentLink: against none.
    LinkId begun_by = kParentLink;
    std::map<LinkId, std::uint64_t> contributed;  // bytes by child
    // If a fence: cache::Policy::taken() of the pairs that it took along.
    std::uint64_t carried = 0;
    // If a fence: the latest clock of the members that have contributed.
    cache::Stamp clock = 0;
    // The ranks of this node that wait for the answer.
    std::vector<std::pair<Rank, RequestId>> callers;
    std::vector<Piece> pieces;  // parts of the result for this node
  };
  using Operations = std::map<CollectiveId, Operation>;

  // An operation takes about this many bytes at an agent beside its set.
  static constexpr std::uint64_t kBegunCost = 1536;
  // Returns about how many bytes an operation's set takes.
  static std::uint64_t bytes_of(const CollectiveId& id) {
    return 256 + id.set.ranges().size() * sizeof(RankSet::Range);
  }
  // Counts the bytes of a set and tag that is new here. Returns false if all of them would take too
  // much; the call is refused then.
  bool may_number(const ask::Collective& call);
  // Opens an operation that a child begins, and counts its bytes. Returns false if the child has
  // begun too many that are not over.
  bool may_begin(Child& child, const CollectiveId& id);
  // Counts a contribution of a child. Returns false if its contributions to operations that are not
  // over would take too many bytes.
  bool may_contribute(Operation& op, Child& child, std::size_t bytes) const;
  // Returns the operation, which begins here if it is not known yet.
  Operations::iterator open(const CollectiveId& id);
  // Returns true if operations turn round at this agent: here contributions are complete, and the
  // result begins to go down.
  bool is_top() const { return context_.is_root() || cut_off_; }
  // Notes that a member calls the operation with this kind and root. The first member sets those of
  // `op`. A later one that differs sets op.mismatch. The last argument names the member in that
  // text.
  void agree(Operation& op, CollectiveKind kind, Rank root, const std::string& who);
  // Counts the members outside the subtree as missing in `op`, because the parent was lost.
  void leave_outside(const CollectiveId& id, Operation& op);
  // Notes that these ranks of this node have entered or ended. Calls advance(), so `at` may be
  // invalid after the call.
  void enter(Operations::iterator at, const RankSet& ranks);
  // Sends a probe to each open child with ended ranks that has not been sent one.
  void probe(const CollectiveId& id, Operation& op);
  // Adds the records of a rank's call to op.pending. What has no room there goes up first.
  void contribute(Operation& op, const CollectiveId& id, const ask::Collective& call, Rank rank);
  // Appends one contribution as records to op.pending. `destination` is a rank or kEverybody. If
  // op.pending is full, it goes up first.
  void add_record(Operation& op, const CollectiveId& id, Rank source, std::uint32_t destination,
                  const Chunk& payload);
  // Adds to a fence what this node's ranks have put, unless a fence of the whole job has brought it
  // to all nodes.
  void take_stage(Operation& op, const CollectiveId& id);
  // Appends pairs of a fence to op.pending. If op.pending is full, it goes up first.
  void add_pairs(Operation& op, const CollectiveId& id, std::string_view pairs);
  // Sends op.pending up as a piece, if it is not empty.
  void flush(Operation& op, const CollectiveId& id);
  // If all members below have entered or are missing, sends the last piece up or turns the
  // operation round. `at` may be invalid after the call.
  void advance(Operations::iterator at);
  // To be called at the agent where operations turn round. Returns true if contributions go down to
  // the other members.
  bool goes_down(const Operation& op) const;
  // Returns the clock that the last piece carries; 0 if the operation is no fence.
  static cache::Stamp clock_of(const Operation& op) {
    return op.kind == CollectiveKind::fence ? op.clock : 0;
  }
  // Returns the records as a piece. It is packed if it is a fence's and that saves bytes.
  static Piece packed(const Operation& op, Chunk records);
  // Sends a piece to the parent. If operations turn round here, sends it down, or drops it unless
  // goes_down().
  void piece_up(Operation& op, const CollectiveId& id, Piece piece, bool last);
  // Passes a piece on to children and keeps what is for this node. If `last` is true, completes the
  // operation, and `at` is invalid then. Returns false if records are malformed.
  bool piece_down(Operations::iterator at, const Piece& piece, bool last);
  // Sends each child the records for its ranks, and keeps those for this node. Returns false if the
  // records are malformed.
  bool split_down(Operation& op, const CollectiveId& id, const Chunk& records);
  // Sends the same piece to all children with members. A gather's records go only towards its root.
  void forward_down(Operation& op, const CollectiveId& id, const Piece& piece, bool last);
  // Gives the pairs of a fence to the policy. If a piece is damaged, sets op.mismatch and stops.
  void commit(Operation& op, const CollectiveId& id);
  // Ends an operation of which the last piece is here. Commits a fence that succeeded, answers the
  // callers, and erases the operation.
  void complete(Operations::iterator at);
  // Replies to the callers, with results or with the error of the operation.
  void answer(const CollectiveId& id, Operation& op);

  Context& context_;
  Children& children_;
  cache::Policy* policy_ = nullptr;
  Bulletin* bulletin_ = nullptr;
  Operations operations_;
  RankSet ended_ranks_;  // on this node
  // The next numbers, by set and tag, then by rank.
  std::map<std::pair<RankSet, std::uint32_t>, std::map<Rank, std::uint64_t>> next_seq_;
  std::uint64_t numbered_bytes_ = 0;  // about the bytes of next_seq_
  bool committed_ = false;
  bool cut_off_ = false;
  bool probing_ = false;  // some child has ended ranks
};

}  // namespace scela::nla
