// NLA_Send and NLA_Recv: messages between ranks, routed over the tree by rank location
// (thesis 2.2.3).
//
// A message goes up until an agent has the destination in its subtree, then down. Order is kept per
// (source, destination, tag). Unreceived messages wait at the destination's agent.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
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

class Mailbox {
 public:
  // `most_partial`: bytes of messages that have begun to come, all together. More for one of them,
  // where no other has begun.
  Mailbox(Context& context, Children& children, std::uint64_t most_partial = kMostPartial)
      : context_(context), children_(children), most_partial_(most_partial) {}

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
  void add_partial(const Key& key, Box& box, const msg::Parcel& parcel);
  void drop_partial(Box& box);
  void forget_idle(const Key& key);
  void match(const Key& key, Box& box);
  void serve(const Key& key, const Chunk& message);
  bool apart(Rank one, Rank other) const;
  void refuse(const Key& key, Box& box, const std::string& why);

  Context& context_;
  Children& children_;
  const std::uint64_t most_partial_;
  std::map<Key, Box> boxes_;
  std::map<std::uint64_t, Key> partials_;  // by when they have grown last
  std::uint64_t next_turn_ = 1;
  std::uint64_t partial_bytes_ = 0;
  RankSet ended_;                 // of this node
  RankSet failed_;                // anywhere
  std::vector<RankSet> islands_;  // cut off
};

}  // namespace scela::nla
