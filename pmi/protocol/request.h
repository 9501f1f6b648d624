// What a client's session asks of its job, and what it is answered: the same for every protocol.
//
// Values only. A session numbers its requests from 1 in the order in which it gives them, and is
// answered by that number; Abort and Violation end a session and have none.
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

struct Put {  // into the job's space; key and value are within the limits
  std::string key;
  std::string value;
};
struct Get {  // answered at once, found or not
  std::string key;
};
struct Fence {};     // a barrier of all ranks, after which all puts before it are visible
struct GroupFence {  // the same among some ranks, the asker included
  RankSet group;
  std::uint32_t tag = 0;  // fences of one group with different tags may overlap; 0 is Fence's
};
struct Exchange {  // all ranks give bytes and are answered those of all
  std::string bytes;
};
struct PutNode {  // an attribute of the asker's node, visible there at once
  std::string key;
  std::string value;
};
struct GetNode {
  std::string key;
  bool wait = false;  // answered when a rank of the node has put it, else at once
};
struct Publish {  // a name of the whole job; one that is there already is an error
  std::string name;
  std::string port;
};
struct Lookup {  // one that is not there is an error
  std::string name;
};
struct Unpublish {  // likewise
  std::string name;
};
struct Spawn {  // more ranks, with a key-value space of their own that begins with `preput`
  std::vector<SpawnProgram> programs;
  KeyValues preput;
};
struct Segment {
};               // the memory that the ranks of the asker's node share: handed over with the answer
struct Ring {};  // memory to talk through instead of the connection: likewise
struct Failed {};  // which ranks have failed
struct Left {      // whether a rank has taken leave, or has ended: what is known now
  Rank about = 0;
};
struct Abort {  // the rank asks for the end of the job; not answered
  std::int32_t code = 1;
  std::string message;  // may be empty
};
struct Violation {  // the rank broke the protocol; not answered
  std::string why;  // for the user, starts with what the rank did
};

}  // namespace ask

using Request =
    std::variant<ask::Put, ask::Get, ask::Fence, ask::GroupFence, ask::Exchange, ask::PutNode,
                 ask::GetNode, ask::Publish, ask::Lookup, ask::Unpublish, ask::Failed, ask::Segment,
                 ask::Ring, ask::Left, ask::Spawn, ask::Abort, ask::Violation>;

struct Answer {
  bool ok = true;
  std::string error{};  // when !ok, for a person
  bool found = false;   // Get, GetNode; Left: it has
  // Get, GetNode; Lookup: the port; Failed: as RankSet::text(); Spawn: the name of the new ranks'
  // space, when !ok what became of each rank, 0 or 1, with commas, or nothing.
  std::string value{};
  std::vector<Chunk> parts{};  // Exchange: one per rank, in rank order
};

}  // namespace scela::pmi
