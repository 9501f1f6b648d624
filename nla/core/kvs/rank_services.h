// The services of an agent to its ranks: pairs, collective operations, messages, attributes, names
// and requests to spawn. This part owns those services and the node's cache. It passes the requests
// of ranks and the messages of other agents to the service they are for.
//
// It also knows which ranks have failed, and which were cut off by the loss of an agent, as far as
// the services need that. The agent's core uses this part, and one thread at a time calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/policy.h"
#include "nla/core/kvs/attributes.h"
#include "nla/core/kvs/bulletin.h"
#include "nla/core/kvs/collectives.h"
#include "nla/core/kvs/mailbox.h"
#include "nla/core/kvs/names.h"
#include "nla/core/kvs/spawns.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/context.h"

namespace scela::nla {

class RankServices {
 public:
  // `spawns` is the service for requests to spawn. Others use it too, so the caller owns it.
  RankServices(Context& context, Children& children, Spawns& spawns, cache::PolicyMaker maker);

  // The job (Context::job) and the ranks of each child are known. Makes the cache.
  void use_job();
  // Puts the first pairs of a world into the cache, with `prefix` before each key.
  void keep_preput(const World& world, const std::string& prefix);

  // A rank of this node asks for something. Returns false, and does nothing, if no service answers
  // that: ask::Abort and ask::Violation.
  bool ask(const event::Asked& event);
  void on(const event::PairUsed& event);

  // Messages from the parent. Return false if the message breaks the protocol.
  bool from_parent(const msg::CollectiveDown& message);
  bool from_parent(const msg::Answer& message);
  bool from_parent(const msg::Get& message);
  bool from_parent(const msg::Pairs& message);
  bool from_parent(const msg::RoutedMessage& message);
  bool from_parent(const msg::NameAnswer& message);
  bool from_parent(const msg::SpawnAnswer& message);
  bool from_parent(const msg::PeersFailed& message);
  bool from_parent(const msg::CutOff& message);
  // Messages from a child. Return false if the message breaks the protocol.
  bool from_child(Child& child, const msg::CollectiveUp& message);
  bool from_child(Child& child, const msg::Get& message);
  bool from_child(Child& child, const msg::Answer& message);
  bool from_child(Child& child, const msg::Put& message);
  bool from_child(Child& child, const msg::RoutedMessage& message);
  bool from_child(Child& child, const msg::NameAsked& message);
  bool from_child(Child& child, const msg::SpawnAsked& message);
  bool from_child(Child& child, const msg::WorldLaunched& message);
  bool from_child(Child& child, const msg::CutOff& message);

  // These ranks of this node ended. They are not answered any more.
  void ranks_ended(const RankSet& ranks);
  // At the root: this rank failed and the job goes on. Every agent is told.
  void rank_failed(Rank rank);
  // The caller has set Child::some_ended of a child.
  void child_has_ended_ranks() { collectives_.child_has_ended_ranks(); }
  // No rank of the child's subtree will enter an operation any more.
  void child_ended(const Child& child) { collectives_.child_ended(child); }
  // The child is lost. Those that wait for an answer from it are told so.
  void link_ended(LinkId link) { bulletin_.child_ended(link); }
  // The parent is lost, and what was in flight above with it.
  void orphaned();
  // Tells all services and the agents below that `ranks` are cut off from all others. If `now` is
  // true, requests in flight to the root fail too (msg::CutOff). A call at the root reaches every
  // agent.
  void cut_off(const RankSet& ranks, bool now = false);
  // Repeats to a new parent which ranks were cut off, and asks it what the lost one was asked.
  void repeat_to_parent();
  // Sends a child that was started late what the others have heard of failed ranks, and of ranks
  // that were cut off.
  void send_failed(const Child& child);
  void send_islands(const Child& child);
  // Follows each event: a fence may have made pairs visible.
  void advance() {
    if (collectives_.take_committed()) bulletin_.fence_passed();
  }

  // Returns the ranks that are known to have failed, on any node.
  const RankSet& failed() const { return mailbox_.failed(); }
  // Returns nullptr before the job is known.
  cache::Policy* policy() const { return policy_.get(); }
  // Returns the bytes of keys and values in the cache.
  std::uint64_t cache_bytes() const { return policy_ ? policy_->usage().bytes : 0; }
  std::uint64_t held_bytes() const;

 private:
  // Answers ask::Failed.
  void answer_failed(Rank rank, RequestId id);
  // Returns true if the child may report that these ranks are cut off.
  bool may_be_island(const Child& child, const RankSet& ranks) const;

  Context& context_;
  Children& children_;
  Spawns& spawns_;
  Collectives collectives_;
  Bulletin bulletin_;
  Mailbox mailbox_;
  Attributes attributes_;
  Names names_;
  cache::PolicyMaker make_policy_;
  std::unique_ptr<cache::Policy> policy_;
};

}  // namespace scela::nla
