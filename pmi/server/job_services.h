// What a rank's server may ask of its node: declared here, implemented by the agent (nla).
//
// One object serves all ranks of the node. put, get and fence are answered later, or from within
// the call, through LineServer::answered with the id given here; ids are unique per rank and grow.
// abort and violation are not answered. No call blocks, and none may destroy the server that makes
// it.
#pragma once

#include <cstdint>
#include <string>

#include "pmi/protocol/job_facts.h"

namespace scela::pmi {

using RequestId = std::uint64_t;

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
  // The rank asks for the end of the job with this exit code.
  virtual void abort(Rank rank, std::int32_t code, std::string message) = 0;
  // The rank broke its protocol: the job ends with it named. `why` is for the user.
  virtual void violation(Rank rank, std::string why) = 0;
};

}  // namespace scela::pmi
