// The requests that a client's session makes to its job, and their answers, for PMI-1 and PMI-2.
// Sessions make requests, and LineServer passes them to JobServices.
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

struct Put {  // into the job's space; within the limits
  std::string key;
  std::string value;
};
struct Get {  // answered at once, found or not
  std::string key;
};
struct Fence {};     // barrier; earlier puts become visible
struct GroupFence {  // a fence of some ranks, with the asker
  RankSet group;
  // Fences of one group may overlap if their tags differ. Fence has the tag 0.
  std::uint32_t tag = 0;
};
struct Exchange {  // each rank gives bytes, receives all
  std::string bytes;
};
struct PutNode {  // a node's attribute, visible at once
  std::string key;
  std::string value;
};
struct GetNode {
  std::string key;
  bool wait = false;  // if true, the answer waits for a put
};
struct Publish {  // for the whole job; error if it exists
  std::string name;
  std::string port;
};
struct Lookup {  // error if there is no such name
  std::string name;
};
struct Unpublish {  // error if there is no such name
  std::string name;
};
struct Spawn {  // new ranks; their space has `preput`
  std::vector<SpawnProgram> programs;
  KeyValues preput;
};
struct Segment {  // the node's segment, sent with the answer
};
struct Ring {};    // a ring, sent with the answer
struct Failed {};  // asks which ranks have failed
struct Left {      // asks if a rank has finalized or ended
  Rank about = 0;
};
struct Abort {  // asks to end the job; not answered
  std::int32_t code = 1;
  std::string message;  // may be empty
};
struct Violation {  // a broken protocol; not answered
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
