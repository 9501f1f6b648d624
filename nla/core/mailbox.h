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

#include "nla/core/children.h"
#include "nla/core/context.h"
#include "nla/core/request.h"

namespace scela::nla {

// What servers of a node may be sent at a time by all others, in pieces. Larger: more memory that a
// host can take which sends no last piece; smaller: large answers from many nodes push each other
// out, and their askers wait in vain.
inline constexpr std::uint64_t kMostPartial = std::uint64_t{256} * 1024 * 1024;
// Of these, what the ranks of one node may have sent. Smaller: a large answer of that node is
// lost; larger: more memory that one node which was taken over can take at each other one.
inline constexpr std::uint64_t kMostPartialOfNode = std::uint64_t{48} * 1024 * 1024;
// Messages between ranks that have come and that no rank has asked for yet, at one agent. What
// comes beyond it is dropped, and receiving ranks are told. Smaller: programs that send long before
// others receive fail; larger: more memory that a rank, or a node which was taken over, can take
// elsewhere.
inline constexpr std::uint64_t kMostUnreceived = std::uint64_t{32} * 1024 * 1024;

class Mailbox {
 public:
  // Bytes that this agent holds at most of messages between ranks.
  struct Bounds {
    // Of messages that have begun to come. One of them may take more, if no other has begun.
    std::uint64_t partial = kMostPartial;
    std::uint64_t partial_of_node = kMostPartialOfNode;  // of those, what one node's ranks send
    std::uint64_t unreceived = kMostUnreceived;
  };
  Mailbox(Context& context, Children& children) : Mailbox(context, children, Bounds()) {}
  Mailbox(Context& context, Children& children, const Bounds& bounds)
      : context_(context),
        children_(children),
        most_partial_(bounds.partial),
        most_of_node_(bounds.partial_of_node),
        most_unreceived_(bounds.unreceived) {}

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
  bool may_wait(const Chunk& message) const;
  std::uint32_t node_of(Rank rank) const { return context_.job->map.node_of(rank).value_or(0); }
  void forget_idle(const Key& key);
  void match(const Key& key, Box& box);
  void serve(const Key& key, const Chunk& message);
  bool apart(Rank one, Rank other) const;
  void refuse(const Key& key, Box& box, const std::string& why);

  Context& context_;
  Children& children_;
  const std::uint64_t most_partial_;
  const std::uint64_t most_of_node_;
  const std::uint64_t most_unreceived_;
  std::map<Key, Box> boxes_;
  std::map<std::uint64_t, Key> partials_;  // by when they have grown last
  std::uint64_t next_turn_ = 1;
  std::uint64_t partial_bytes_ = 0;
  std::map<std::uint32_t, Begun> begun_of_;  // by the sender's node
  std::uint64_t unreceived_ = 0;             // cost of the messages that wait
  RankSet dropped_;                          // ranks of this node that messages were dropped for
  RankSet ended_;                            // of this node
  RankSet failed_;                           // anywhere
  std::vector<RankSet> islands_;             // cut off
};

}  // namespace scela::nla
