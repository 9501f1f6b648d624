// The services of a node that a rank's server may call. They are declared here and implemented by
// the agent (nla).
//
// One object serves all ranks of the node. A call with an id is answered through the RankServer
// with that id, later or from within the call. Ids are unique per rank and grow. abort and
// violation are not answered. No call blocks, and no call may destroy the server that makes it. All
// calls come from one thread.
#pragma once

#include <cstdint>
#include <string>

#include "pmi/protocol/collective.h"
#include "pmi/protocol/job_facts.h"
#include "pmi/protocol/request.h"

namespace scela::pmi {

class JobServices {
 public:
  virtual ~JobServices() = default;

  virtual JobFacts facts(Rank rank) const = 0;

  // Stores a pair. Other ranks are sure to see it only after the next fence.
  virtual void put(Rank rank, RequestId id, std::string key, std::string value) = 0;
  // If `wait`, the answer comes when the pair becomes visible on this node. Otherwise the answer
  // does not wait for the pair to be put.
  virtual void get(Rank rank, RequestId id, std::string key, bool wait) = 0;
  // A barrier of all ranks of the job that makes every put before it visible everywhere.
  virtual void fence(Rank rank, RequestId id) = 0;
  // A fence of the ranks of `group`, of which `rank` is one. Ranks that enter one fence give the
  // same tag. Fences that differ in group or tag may overlap. The group of all ranks with the tag 0
  // is the one of fence().
  virtual void group_fence(Rank rank, RequestId id, RankSet group, std::uint32_t tag) = 0;
  // All ranks of the job give bytes; the answer to each rank holds the bytes of all ranks
  // (Answer::parts).
  virtual void exchange(Rank rank, RequestId id, std::string bytes) = 0;
  // Attributes of the node, which only its ranks see. A put takes effect at once and may replace a
  // value. If `wait`, the answer comes when a rank of the node has put the attribute.
  virtual void put_node(Rank rank, RequestId id, std::string key, std::string value) = 0;
  virtual void get_node(Rank rank, RequestId id, std::string key, bool wait) = 0;
  // Names of the whole job. The answer is an error if a published name exists already, or if a name
  // to look up or unpublish does not exist.
  virtual void publish(Rank rank, RequestId id, std::string name, std::string port) = 0;
  virtual void lookup(Rank rank, RequestId id, std::string name) = 0;
  virtual void unpublish(Rank rank, RequestId id, std::string name) = 0;
  // Starts more ranks. The answer comes when all of them run, or when one could not be started.
  virtual void spawn(Rank rank, RequestId id, ask::Spawn request) = 0;
  // The answer holds the ranks that this node knows to have failed, as RankSet::text().
  virtual void failed(Rank rank, RequestId id) = 0;
  // Asks if `about`, a rank of the same job, has finalized or has ended. The answer comes at once
  // with what this node knows (Answer::found). If this node does not know it, it asks for it, so
  // that a later call is answered.
  virtual void left(Rank rank, RequestId id, Rank about) = 0;
  // Asks for the memory that the agent shares with the ranks of this node
  // (pmi/protocol/segment_layout.h). Its descriptor goes to the rank with the answer. The answer is
  // an error if there is no segment or no way to send a descriptor.
  virtual void segment(Rank rank, RequestId id) = 0;
  // Asks for a ring to use instead of the connection (pmi/protocol/ring_layout.h). Descriptors and
  // errors are as for segment(). Once the rank has taken the ring, its connection ends and its
  // bytes pass there.
  virtual void ring(Rank rank, RequestId id) = 0;
  // An operation of all ranks of the job. The answer comes through RankServer::collected.
  virtual void collective(Rank rank, RequestId id, Collective call) = 0;
  // The rank asks for the end of the job with this exit code.
  virtual void abort(Rank rank, std::int32_t code, std::string message) = 0;
  // The rank broke its protocol, so the job ends and the error names the rank. `why` is for the
  // user.
  virtual void violation(Rank rank, std::string why) = 0;
};

}  // namespace scela::pmi
