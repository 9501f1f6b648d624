// The services of an agent to its ranks: pairs, collective operations, messages, attributes, names
// and requests to spawn. An agent is the process of a job on one node. This part owns those
// services and the node's cache. It passes the requests of ranks and the messages of other agents
// to the service they are for.
//
// It also knows which ranks have failed, and which were cut off by the loss of an agent, as far as
// the services need that. Ranks are cut off if an agent between them and the rest of the job was
// lost: messages in flight may be lost. They and their new parent agent then go on. A world is a
// set of ranks that a rank added to the running job. The agent's core uses this part, and one
// thread at a time calls it.
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
#include "nla/core/tree/core_context.h"

namespace scela::nla {

class RankServices {
 public:
  // `spawns` is the service for requests to spawn. Others use it too, so the caller owns it.
  // `maker` makes the cache's policy.
  RankServices(Context& context, Children& children, Spawns& spawns, cache::PolicyMaker maker);

  // Call it once the job (Context::job) and the ranks of each child are known. Makes the cache.
  void use_job();
  // Puts the first pairs of a world into the cache, with `prefix` before each key.
  void keep_preput(const World& world, const std::string& prefix);

  // Carries out a request of a rank of this node; action::Reply answers it, now or later. Returns
  // false, and does nothing, if no service answers that: ask::Abort and ask::Violation.
  bool ask(const event::Asked& event);
  // Marks the pair as used lately, for caches that evict.
  void on(const event::PairUsed& event);

  // Messages from the parent. All these functions return false if the message breaks the protocol;
  // the caller gives the link up then.

  // Takes a piece of the result of a collective operation.
  bool from_parent(const msg::CollectiveDown& message);
  // Takes the value of a key that this agent has asked for, and answers the ranks and children that
  // wait for it.
  bool from_parent(const msg::Answer& message);
  // Answers with a pair that an owner here or below has (policy dht).
  bool from_parent(const msg::Get& message);
  // Keeps pairs for owners on this node, and sends on those for nodes below (policy dht).
  bool from_parent(const msg::Pairs& message);
  // Delivers a message to a rank of this node, or sends it on down.
  bool from_parent(const msg::RoutedMessage& message);
  // Replies to the rank that asked about a name, or sends the answer on down.
  bool from_parent(const msg::NameAnswer& message);
  // Replies to the rank that asked for more ranks, or sends the answer on down.
  bool from_parent(const msg::SpawnAnswer& message);
  // Fails the requests that wait for these ranks, which failed while the job goes on. Passes the
  // message on.
  bool from_parent(const msg::PeersFailed& message);
  // Fails the requests that may be lost because these ranks were cut off. Passes the message on.
  bool from_parent(const msg::CutOff& message);
  // Messages from a child. All these functions return false if the message breaks the protocol; the
  // caller gives the link up then.

  // Takes a piece of contributions to a collective operation.
  bool from_child(Child& child, const msg::CollectiveUp& message);
  // Answers the child with a pair, now or when it is here.
  bool from_child(Child& child, const msg::Get& message);
  // Takes the value of a key that this agent has asked the child for (policy dht).
  bool from_child(Child& child, const msg::Answer& message);
  // Takes a pair that travels up at once (policy hcs).
  bool from_child(Child& child, const msg::Put& message);
  // Delivers a message to a rank of this node, or sends it on up or down.
  bool from_child(Child& child, const msg::RoutedMessage& message);
  // Answers a question about a name at the root; elsewhere sends it up.
  bool from_child(Child& child, const msg::NameAsked& message);
  // Passes a request for more ranks to the root's shell; elsewhere sends it up.
  bool from_child(Child& child, const msg::SpawnAsked& message);
  // Takes the child's report of which ranks of a world were started.
  bool from_child(Child& child, const msg::WorldLaunched& message);
  // Takes the child's report that ranks below were cut off. The root tells every agent.
  bool from_child(Child& child, const msg::CutOff& message);

  // Call it if these ranks of this node ended. Their requests are not answered any more.
  void ranks_ended(const RankSet& ranks);
  // At the root: call it if this rank failed and the job goes on. Tells every agent.
  void rank_failed(Rank rank);
  // Call it when Child::some_ended was set for a child: the child must then be told of operations
  // that begin.
  void child_has_ended_ranks() { collectives_.child_has_ended_ranks(); }
  // Call it if no rank of the child's subtree will enter an operation any more.
  void child_ended(const Child& child) { collectives_.child_ended(child); }
  // Call it if the child is lost. Requests that wait for an answer from it get an error.
  void link_ended(LinkId link) { bulletin_.child_ended(link); }
  // Call it if the parent is lost. What was in flight above it is taken as lost, and the whole
  // subtree as cut off.
  void orphaned();
  // Tells all services and the agents below that `ranks` are cut off from all others. If `now` is
  // true, requests in flight to the root fail too (msg::CutOff). A call at the root reaches every
  // agent.
  void cut_off(const RankSet& ranks, bool now = false);
  // Repeats to a new parent which ranks were cut off, and asks it what the lost one was asked.
  void repeat_to_parent();
  // Send a child that was started or adopted late the ranks that have failed so far, and the sets
  // of ranks that were cut off.
  void send_failed(const Child& child);
  void send_cut_off_sets(const Child& child);
  // Call it after each event. Answers gets that wait for pairs, if a fence was committed since the
  // last call.
  void advance() {
    if (collectives_.fetch_committed()) bulletin_.fence_passed();
  }

  // Returns the ranks that are known to have failed, on any node.
  const RankSet& failed() const { return mailbox_.failed(); }
  // Returns the cache's policy, or nullptr before the job is known.
  cache::Policy* policy() const { return policy_.get(); }
  // Returns the bytes of keys and values in the cache.
  std::uint64_t cache_bytes() const { return policy_ ? policy_->usage().bytes : 0; }
  // Returns the bytes that operations, spread pairs and messages take.
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
