// NLA_Send and NLA_Recv: messages between ranks, routed over the tree by rank location
// (thesis 2.2.3).
//
// A message goes up until an agent has the destination in its subtree, then down. Order is kept per
// (source, destination, tag). Unreceived messages wait at the destination's agent.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "nla/core/budget.h"
#include "nla/core/children.h"
#include "nla/core/context.h"
#include "nla/core/request.h"

namespace scela::nla {

// The longest message for the servers of a node: what a rank may put fits, with what stands around
// it.
inline constexpr std::uint64_t kMaxMessage = kRankBudget + 4096;
// The longest message from rank to rank: bootstrap data, not bulk.
inline constexpr std::uint64_t kMaxRankMessage = std::uint64_t{4} * 1024 * 1024;
// What an agent holds of messages that have begun to come, in pieces, of all nodes together.
// Larger: a host that sends no last piece takes more memory; smaller: large answers of many nodes
// push each other out, and their askers wait in vain.
inline constexpr std::uint64_t kMostPartial = std::uint64_t{256} * 1024 * 1024;
// The same of what one node's ranks send. Smaller: a large answer of that node is lost; larger: a
// node that was taken over takes more memory of each other node.
inline constexpr std::uint64_t kMostPartialOfNode = std::uint64_t{40} * 1024 * 1024;
// What an agent holds of messages that have come and that no rank has asked for yet, of all nodes
// together and of one. Smaller: programs that send long before others receive fail; larger: more
// memory for a rank, or a node that was taken over, which sends what nobody receives.
inline constexpr std::uint64_t kMostUnreceived = std::uint64_t{32} * 1024 * 1024;
inline constexpr std::uint64_t kMostUnreceivedOfNode = std::uint64_t{8} * 1024 * 1024;

class Mailbox {
 public:
  // In bytes, see above. A message that is the only one to have begun may take more than `partial`.
  struct Bounds {
    std::uint64_t partial = kMostPartial;
    std::uint64_t partial_of_node = kMostPartialOfNode;
    std::uint64_t unreceived = kMostUnreceived;
    std::uint64_t unreceived_of_node = kMostUnreceivedOfNode;
  };
  Mailbox(Context& context, Children& children) : Mailbox(context, children, Bounds()) {}
  Mailbox(Context& context, Children& children, const Bounds& bounds)
      : context_(context), children_(children), most_(bounds) {}

  void ask(Rank rank, RequestId id, const ask::Send& send);
  void ask(Rank rank, RequestId id, const ask::Receive& receive);
  // False: the message breaks the protocol; the link must end.
  bool receive(const msg::Parcel& parcel);

  void ranks_ended(const RankSet& ranks);
  // Ranks failed and the job goes on: who waits for them is told.
  void peers_failed(const RankSet& ranks);
  const RankSet& failed() const { return failed_; }
  // Messages between these ranks and all others were lost with an agent on their way, and those to
  // come do not pass either, but those for who serves ranks: who waits for one is told.
  void cut_off(const RankSet& ranks);
  const std::vector<RankSet>& islands() const { return islands_; }
  std::uint64_t held_bytes() const;
  std::size_t boxes() const { return boxes_.size(); }

 private:
  struct Box {  // of one (destination, source, tag)
    std::string partial;
    std::uint64_t total = 0;  // of the message that partial belongs to
    std::uint64_t turn = 0;   // in partials_; 0: no message has begun to come
    std::uint64_t counted = 0;
    std::deque<Chunk> messages;
    std::deque<RequestId> waiting;
  };
  using Key = std::tuple<Rank, Rank, std::uint32_t>;

  void route(const msg::Parcel& parcel);
  void deliver(const msg::Parcel& parcel);
  struct Begun {  // messages that one node's ranks have begun to send
    std::set<std::uint64_t> turns;
    std::uint64_t bytes = 0;
  };
  void add_partial(const Key& key, Box& box, const msg::Parcel& parcel);
  void give_way(std::uint64_t turn);
  void drop_partial(const Key& key, Box& box);
  void drop(const Key& key, Box& box);  // all that it holds
  static std::uint64_t cost_of(const Chunk& message);
  bool was_dropped(Rank destination, Rank source) const;
  bool may_wait(Rank source, const Chunk& message);
  void waits(Rank source, const Chunk& message);
  void waits_no_more(Rank source, const Chunk& message);
  std::uint32_t node_of(Rank rank) const { return context_.job->map.node_of(rank).value_or(0); }
  void forget_idle(const Key& key);
  void match(const Key& key, Box& box);
  void serve(const Key& key, const Chunk& message);
  bool apart(Rank one, Rank other) const;
  void refuse(const Key& key, Box& box, const std::string& why);

  Context& context_;
  Children& children_;
  const Bounds most_;
  std::map<Key, Box> boxes_;
  std::map<std::uint64_t, Key> partials_;  // by when they have grown last
  std::uint64_t next_turn_ = 1;
  std::uint64_t partial_bytes_ = 0;
  std::map<std::uint32_t, Begun> begun_of_;  // by the sender's node
  // Cost of the messages that wait, in all and by the sender's node.
  std::uint64_t unreceived_ = 0;
  std::map<std::uint32_t, std::uint64_t> unreceived_of_;
  // By rank of this node, the ranks of which a message to it was dropped. Nothing more of these is
  // kept: a receive would get a later message in the place of an earlier one.
  std::map<Rank, RankSet> dropped_;
  RankSet ended_;                 // of this node
  RankSet failed_;                // anywhere
  std::vector<RankSet> islands_;  // cut off
};

}  // namespace scela::nla
