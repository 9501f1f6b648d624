// What a rank's server may ask of its node: declared here, implemented by the agent (nla).
//
// One object serves all ranks of the node. Everything with an id is answered later, or from within
// the call, through the RankServer with that id; ids are unique per rank and grow. abort and
// violation are not answered. No call blocks, and none may destroy the server that makes it.
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

  // Stores a pair; other ranks are sure to see it only after the next fence.
  virtual void put(Rank rank, RequestId id, std::string key, std::string value) = 0;
  // wait: answered when the pair becomes visible on this node, else at once, found or not.
  virtual void get(Rank rank, RequestId id, std::string key, bool wait) = 0;
  // A barrier of all ranks of the job that makes every put before it visible everywhere.
  virtual void fence(Rank rank, RequestId id) = 0;
  // The same among the ranks of `group`, of which `rank` is one. Those that enter together say the
  // same tag; what differs in group or tag may overlap. Of everybody with tag 0: fence().
  virtual void group_fence(Rank rank, RequestId id, RankSet group, std::uint32_t tag) = 0;
  // All ranks of the job give bytes; each is answered those of all (Answer::parts).
  virtual void exchange(Rank rank, RequestId id, std::string bytes) = 0;
  // Attributes of the node, which its ranks share and nobody else sees; put at once, and again with
  // another value. wait: answered when a rank of the node has put it.
  virtual void put_node(Rank rank, RequestId id, std::string key, std::string value) = 0;
  virtual void get_node(Rank rank, RequestId id, std::string key, bool wait) = 0;
  // Names of the whole job. To publish one that is there, and to look up or unpublish one that is
  // not, is answered as an error.
  virtual void publish(Rank rank, RequestId id, std::string name, std::string port) = 0;
  virtual void lookup(Rank rank, RequestId id, std::string name) = 0;
  virtual void unpublish(Rank rank, RequestId id, std::string name) = 0;
  // More ranks; answered when all of them run, or when one could not be started.
  virtual void spawn(Rank rank, RequestId id, ask::Spawn request) = 0;
  // Which ranks have failed and are known here to, as RankSet::text().
  virtual void failed(Rank rank, RequestId id) = 0;
  // Whether `about`, of the same job, has taken leave or has ended: answered at once by what is
  // known here (Answer::found), and asked for where it is not: who asks again later is told.
  virtual void left(Rank rank, RequestId id, Rank about) = 0;
  // The memory that the agent shares with the ranks of this node (segment_layout.h): its descriptor
  // goes to the rank with the answer; an error where there is none, or no way to hand it over.
  virtual void segment(Rank rank, RequestId id) = 0;
  // Memory to talk through instead of the connection (ring_layout.h): likewise. Once the rank has
  // taken it, its connection ends and its bytes pass there.
  virtual void ring(Rank rank, RequestId id) = 0;
  // An operation of all ranks of the job; answered through RankServer::collected.
  virtual void collective(Rank rank, RequestId id, Collective call) = 0;
  // The rank asks for the end of the job with this exit code.
  virtual void abort(Rank rank, std::int32_t code, std::string message) = 0;
  // The rank broke its protocol: the job ends with it named. `why` is for the user.
  virtual void violation(Rank rank, std::string why) = 0;
};

}  // namespace scela::pmi
