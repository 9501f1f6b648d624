// NLA_Send and NLA_Recv: messages between ranks, routed over the tree by rank location (thesis
// 2.2.3). The agent's core uses this part, and one thread at a time calls it.
//
// A message goes up until an agent has the destination in its subtree, then down. Order is kept for
// each (source, destination, tag). Messages that were not received wait at the destination's agent.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "nla/core/kvs/budget.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/context.h"
#include "nla/core/wire/request.h"

namespace scela::nla {

// The longest message to the servers of a node, in bytes. Whatever a rank may put fits, with what
// stands around it.
inline constexpr std::uint64_t kMaxMessage = kRankBudget + 4096;
// The longest message from rank to rank, in bytes: bootstrap data, not bulk.
inline constexpr std::uint64_t kMaxRankMessage = std::uint64_t{4} * 1024 * 1024;
// Bytes that an agent holds of messages that have begun to come in pieces, from all nodes together.
// If it were larger, a host that sends no last piece would take more memory. If it were smaller,
// large answers of many nodes would push each other out, and their askers would wait in vain.
inline constexpr std::uint64_t kMaxPartial = std::uint64_t{256} * 1024 * 1024;
// The bytes of these that one node's ranks sent. If it were smaller, a large answer of that node
// would be lost. If it were larger, a node that was taken over would take more memory of each other
// node.
inline constexpr std::uint64_t kMaxPartialOfNode = std::uint64_t{40} * 1024 * 1024;
// Bytes that an agent holds of messages that have come and that no rank has asked for yet, from all
// nodes together and from one. If they were smaller, programs that send long before others receive
// would fail. If they were larger, a rank or a node that was taken over would take more memory with
// messages that no rank receives.
inline constexpr std::uint64_t kMaxUnreceived = std::uint64_t{32} * 1024 * 1024;
inline constexpr std::uint64_t kMaxUnreceivedOfNode = std::uint64_t{8} * 1024 * 1024;

class Mailbox {
 public:
  // The bounds in bytes, as above. A message that is the only one to have begun may take more than
  // `partial`.
  struct Bounds {
    std::uint64_t partial = kMaxPartial;
    std::uint64_t partial_of_node = kMaxPartialOfNode;
    std::uint64_t unreceived = kMaxUnreceived;
    std::uint64_t unreceived_of_node = kMaxUnreceivedOfNode;
  };
  Mailbox(Context& context, Children& children) : Mailbox(context, children, Bounds()) {}
  Mailbox(Context& context, Children& children, const Bounds& bounds)
      : context_(context), children_(children), max_(bounds) {}

  void ask(Rank rank, RequestId id, const ask::Send& send);
  void ask(Rank rank, RequestId id, const ask::Receive& receive);
  // Returns false if the message breaks the protocol; the link must end then.
  bool receive(const msg::RoutedMessage& routed);

  void ranks_ended(const RankSet& ranks);
  // Ranks failed and the job goes on. Receives that wait for a message of them fail.
  void peers_failed(const RankSet& ranks);
  const RankSet& failed() const { return failed_; }
  // Messages between these ranks and all others were lost with an agent on their way. Later ones do
  // not pass either, except those with a service tag. Receives that wait for such a message fail.
  void cut_off(const RankSet& ranks);
  const std::vector<RankSet>& islands() const { return islands_; }
  std::uint64_t held_bytes() const;
  std::size_t boxes() const { return boxes_.size(); }

 private:
  struct Box {  // for one (destination, source, tag)
    std::string partial;
    std::uint64_t total = 0;  // length of the message in `partial`
    std::uint64_t turn = 0;   // key in partials_; 0: none has begun
    std::uint64_t counted = 0;
    std::deque<Chunk> messages;
    std::deque<RequestId> waiting;
  };
  using Key = std::tuple<Rank, Rank, std::uint32_t>;

  void route(const msg::RoutedMessage& routed);
  void deliver(const msg::RoutedMessage& routed);
  struct Begun {  // messages that a node began to send
    std::set<std::uint64_t> turns;
    std::uint64_t bytes = 0;
  };
  void add_partial(const Key& key, Box& box, const msg::RoutedMessage& routed);
  void give_way(std::uint64_t turn);
  void drop_partial(const Key& key, Box& box);
  void drop(const Key& key, Box& box);  // drops all that the box holds
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
  const Bounds max_;
  std::map<Key, Box> boxes_;
  std::map<std::uint64_t, Key> partials_;  // by the time of their last growth
  std::uint64_t next_turn_ = 1;
  std::uint64_t partial_bytes_ = 0;
  std::map<std::uint32_t, Begun> begun_of_;
  // The cost in bytes of the messages that wait, in all and by the sender's node.
  std::uint64_t unreceived_ = 0;
  std::map<std::uint32_t, std::uint64_t> unreceived_of_;
  // For each rank of this node, the ranks that had a message to it dropped. No later message of
  // these ranks is kept: a receive would get it in the place of an earlier one.
  std::map<Rank, RankSet> dropped_;
  RankSet ended_;                 // on this node
  RankSet failed_;                // on any node
  std::vector<RankSet> islands_;  // sets of ranks that were cut off
};

}  // namespace scela::nla
