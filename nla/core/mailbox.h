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

class Mailbox {
 public:
  Mailbox(Context& context, Children& children) : context_(context), children_(children) {}

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

 private:
  struct Box {  // of one (destination, source, tag)
    std::string partial;
    std::uint64_t total = 0;  // of the message that partial belongs to
    std::deque<Chunk> messages;
    std::deque<RequestId> waiting;
  };
  using Key = std::tuple<Rank, Rank, std::uint32_t>;

  void route(const msg::Parcel& parcel);
  void deliver(const msg::Parcel& parcel);
  void match(const Key& key, Box& box);
  void serve(const Key& key, const Chunk& message);
  bool apart(Rank one, Rank other) const;
  void refuse(const Key& key, Box& box, const std::string& why);

  Context& context_;
  Children& children_;
  std::map<Key, Box> boxes_;
  RankSet ended_;                 // of this node
  RankSet failed_;                // anywhere
  std::vector<RankSet> islands_;  // cut off
};

}  // namespace scela::nla
