// The requests that a client's session makes to its job, and their answers, for PMI-1 and PMI-2.
// Sessions make requests, and the rank's server passes them to JobServices.
//
// Values only. A session numbers its requests from 1 in the order in which it gives them. The
// answer names that number. Abort and Violation end a session and have no number.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/chunk.h"
#include "common/core/rank_set.h"

namespace scela::pmi {

using RequestId = std::uint64_t;

using KeyValues = std::vector<std::pair<std::string, std::string>>;

struct SpawnProgram {
  std::vector<std::string> argv;  // at least the program
  std::uint32_t ranks = 1;
  KeyValues infos;  // hints
};

namespace ask {

// Stores a pair in the job's space, within the limits. Other ranks are sure to see it only after
// the next fence.
struct Put {
  std::string key;
  std::string value;
};
// Answered without waiting for the pair to be put.
struct Get {
  std::string key;
};
// A barrier of all ranks of the job that makes every put before it visible everywhere.
struct Fence {};
// A fence of the ranks of `group`, of which the asker is one. Ranks that enter one fence give the
// same tag. Fences that differ in group or tag may overlap. The group of all ranks with the tag 0
// is the one of Fence.
struct GroupFence {
  RankSet group;
  std::uint32_t tag = 0;
};
// All ranks of the job give bytes. The answer to each rank holds the bytes of all ranks
// (Answer::parts).
struct Exchange {
  std::string bytes;
};
// Attributes of the node, which only its ranks see. A put takes effect at once and may replace a
// value. If `wait`, the answer comes when a rank of the node has put the attribute.
struct PutNode {
  std::string key;
  std::string value;
};
struct GetNode {
  std::string key;
  bool wait = false;
};
// Names of the whole job. The answer is an error if a published name exists already, or if a name
// to look up or unpublish does not exist.
struct Publish {
  std::string name;
  std::string port;
};
struct Lookup {
  std::string name;
};
struct Unpublish {
  std::string name;
};
// Starts more ranks; their space has `preput`. The answer comes when all of them run, or when one
// could not be started.
struct Spawn {
  std::vector<SpawnProgram> programs;
  KeyValues preput;
};
// Asks for the memory that the agent shares with the ranks of this node (segment_layout.h). Its
// descriptor goes to the rank with the answer. The answer is an error if there is no segment or no
// way to send a descriptor.
struct Segment {};
// Asks for a ring to use instead of the connection (ring_layout.h). Descriptors and errors are as
// for Segment. Once the rank has taken the ring, its connection ends and its bytes pass there.
struct Ring {};
// Asks which ranks this node knows to have failed.
struct Failed {};
// Asks if `about`, a rank of the same job, has finalized or has ended. The answer comes at once
// with what this node knows. If this node does not know it, it asks for it, so that a later request
// is answered.
struct Left {
  Rank about = 0;
};
// The rank asks for the end of the job with this exit code. Not answered.
struct Abort {
  std::int32_t code = 1;
  std::string message;  // may be empty
};
// The rank broke its protocol, so the job ends and the error names the rank. Not answered.
struct Violation {
  std::string why;  // for the user: what the rank did
};

}  // namespace ask

using Request =
    std::variant<ask::Put, ask::Get, ask::Fence, ask::GroupFence, ask::Exchange, ask::PutNode,
                 ask::GetNode, ask::Publish, ask::Lookup, ask::Unpublish, ask::Failed, ask::Segment,
                 ask::Ring, ask::Left, ask::Spawn, ask::Abort, ask::Violation>;

struct Answer {
  bool ok = true;
  std::string error{};  // if !ok, for the user
  bool found = false;   // Get, GetNode; Left: the rank has left
  // Get, GetNode: the value. Lookup: the port. Failed: the ranks, as RankSet::text(). Spawn: the
  // name of the new ranks' space; if !ok, the code of each rank, 0 or 1, separated by commas, or an
  // empty string.
  std::string value{};
  std::vector<Chunk> parts{};  // Exchange: one per rank, in rank order
};

}  // namespace scela::pmi
