// NLA_Send and NLA_Recv: messages between ranks, routed over the tree of agents (thesis 2.2.3).
// Each node has one agent. The agent's core uses this part, and one thread at a time calls it.
//
// A message goes up until an agent has the destination in its subtree, then down. Order is kept for
// each (source, destination, tag). Messages that were not received wait at the destination's agent.
// Messages with a service tag (kServiceTags and above) are for the server of the destination on its
// node, not for the rank itself.
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
#include "nla/core/tree/core_context.h"
#include "nla/core/wire/request_names.h"

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
  // The references are borrowed.
  Mailbox(Context& context, Children& children) : Mailbox(context, children, Bounds()) {}
  Mailbox(Context& context, Children& children, const Bounds& bounds)
      : context_(context), children_(children), max_(bounds) {}

  // Sends a message of a rank of this node, and answers at once. A message that is too long or for
  // no rank of the job is refused.
  void ask(Rank rank, RequestId id, const ask::Send& send);
  // Answers a rank of this node when a message of the source with the tag is here, or with an error
  // if none can come.
  void ask(Rank rank, RequestId id, const ask::Receive& receive);
  // Takes a piece of a message from another agent: delivers it here or sends it on. Returns false
  // if the message breaks the protocol; the caller ends the link then.
  bool receive(const msg::RoutedMessage& routed);

  // Call it if these ranks of this node ended. Drops messages and receives that wait for them,
  // except messages with service tags.
  void ranks_ended(const RankSet& ranks);
  // Call it if ranks failed and the job goes on. Fails receives that wait for a message of them.
  void peers_failed(const RankSet& ranks);
  // Returns all ranks that peers_failed() named.
  const RankSet& failed() const { return failed_; }
  // Call it if messages between these ranks and all others were lost with an agent between them.
  // Later ones do not pass either, except those with a service tag. Fails receives that wait for
  // such a message.
  void cut_off(const RankSet& ranks);
  // Returns the sets that cut_off() was given, each once.
  const std::vector<RankSet>& cut_off_sets() const { return islands_; }
  // Returns the bytes of messages that were not handed to a rank yet.
  std::uint64_t held_bytes() const;
  // Returns the number of (destination, source, tag) for which a message or a receive waits, for
  // tests.
  std::size_t boxes() const { return boxes_.size(); }

 private:
  // The messages and receives of one destination, source and tag.
  struct Box {
    std::string partial;
    std::uint64_t total = 0;  // length of the message in `partial`
    // The key in partials_ of a message that has begun to come; 0: none has begun.
    std::uint64_t turn = 0;
    // The bytes that `partial` counts for in partial_bytes_.
    std::uint64_t counted = 0;
    std::deque<Chunk> messages;
    std::deque<RequestId> waiting;
  };
  // The destination, the source and the tag.
  using Key = std::tuple<Rank, Rank, std::uint32_t>;

  // Delivers a piece here, or sends it towards its destination. Drops it if an agent on the way was
  // lost.
  void route(const msg::RoutedMessage& routed);
  // Takes a piece for a rank of this node, and hands over the message if it is whole.
  void deliver(const msg::RoutedMessage& routed);
  // The messages that one node has begun to send, and their bytes.
  struct Begun {
    std::set<std::uint64_t> turns;
    std::uint64_t bytes = 0;
  };
  // Adds a piece to a message that is not whole. If that takes too many bytes, older messages that
  // are not whole are dropped.
  void add_partial(const Key& key, Box& box, const msg::RoutedMessage& routed);
  // Drops the message with this key in partials_, to make room.
  void drop_oldest(std::uint64_t turn);
  // Drops the message that has begun to come, if there is one.
  void drop_partial(const Key& key, Box& box);
  void drop(const Key& key, Box& box);  // drops all that the box holds
  // Returns the bytes that a whole message counts for while it waits.
  static std::uint64_t cost_of(const Chunk& message);
  // Returns true if a message from `source` to `destination` was dropped, so that no later one is
  // kept.
  bool was_dropped(Rank destination, Rank source) const;
  // Returns false if there is no room for one more message that no rank has asked for. Counts
  // nothing.
  bool may_wait(Rank source, const Chunk& message);
  // waits() counts a message that begins to wait for a receive, and waits_no_more() one that ends
  // to wait.
  void waits(Rank source, const Chunk& message);
  void waits_no_more(Rank source, const Chunk& message);
  // Returns 0 if the rank is not in the job.
  std::uint32_t node_of(Rank rank) const { return context_.job->map.node_of(rank).value_or(0); }
  // Erases the box if it holds no message and no receive waits there.
  void forget_idle(const Key& key);
  // Answers the receives that wait, as far as there are messages.
  void match(const Key& key, Box& box);
  // Hands a message with a service tag to the server of its destination.
  void serve(const Key& key, const Chunk& message);
  // Returns true if an agent on the way between these ranks was lost.
  bool are_cut_off(Rank one, Rank other) const;
  // Fails all receives that wait in the box, with the error `why`.
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
