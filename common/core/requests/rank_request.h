// The requests of ranks to their job, and the answers. The sessions of PMI-1, PMI-2 and PMGR
// (pmi/protocol) and the node's answers to PMIx (nla/core/pmix) produce a Request; the agent's core
// (nla/core/kvs) carries it out and produces the Response. No type lies between the two.
//
// The operations are those of thesis section 2.2.3. Ranks are numbered as in the whole job, and a
// key has the prefix of its world: the ranks of scela-run's command are one world, and ranks that
// were spawned together are another. A rank has at most one collective operation for each set and
// tag in flight; sends, puts and gets may overlap it.
//
// Values only, for any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/chunk.h"
#include "common/core/rank_set.h"

namespace scela::ask {

// The number of a request. The asker chooses it; it is unique among the requests of its rank.
using RequestId = std::uint64_t;

// Keys and values, or the names and values of hints.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

// Stores a pair. Answered at once. Ranks of the node find the pair at once, all others after the
// next fence.
struct Put {
  std::string key;
  Chunk value;
};
// Asks for a pair. If `wait` is true, the answer comes when the pair is visible on this node. If it
// is false, the answer comes at once, and Response::found may be false.
struct Get {
  std::string key;
  bool wait = false;
};

// The operations among several ranks.
enum class CollectiveKind : std::uint8_t {
  barrier,
  fence,  // a barrier that makes the pairs put before it visible to all members
  gather,
  broadcast,
  allgather,
  scatter,
  alltoall
};
// An operation among the ranks of `set`, of which the asker is one. All of them must ask with the
// same kind and root. The parts that a rank gives:
//   barrier, fence: none. gather, allgather: one, its own. broadcast: one, by the root only.
//   scatter: one per member in rank order, by the root only. alltoall: one per member in rank
//   order.
struct Collective {
  CollectiveKind kind = CollectiveKind::barrier;
  RankSet set{};
  Rank root = 0;
  std::vector<Chunk> parts{};
  // Operations of one set with different tags are independent and may overlap.
  std::uint32_t tag = 0;
};

// Sends bytes to a rank. Answered at once; delivered in order for each source and tag.
struct Send {
  Rank destination = 0;
  std::uint32_t tag = 0;
  Chunk bytes;
};
// Receives bytes from a rank. The answer comes when a matching message has arrived.
struct Receive {
  Rank source = 0;
  std::uint32_t tag = 0;
};

// Pairs that the ranks of one node share and no other rank sees. A put is answered at once and may
// replace a value. If `wait` is true, a get is answered when a rank of the node has put the pair;
// otherwise at once, found or not.
struct PutNode {
  std::string key;
  std::string value;
};
struct GetNode {
  std::string key;
  bool wait = false;
};

// The questions of a rank about a name.
enum class NameAct : std::uint8_t {
  publish,       // the name exists until it is unpublished
  lookup,        // answered at once, with the port or an error
  unpublish,     // removes the name
  await,         // a lookup that is answered once the name is published
  publish_once,  // the first lookup removes the name
  publish_own,   // the name is removed when its rank ends
  give_up,       // ends an await, if it still waits
  withdraw       // the rank has ended: removes its names of publish_own
};
// The ranks that a name is for, or that a lookup accepts names of: all ranks, those of the same
// world, those on the same node, or the rank itself.
enum class NameRange : std::uint8_t { job, world, node, rank };
// Names of the whole job. The answer is an error if a name to publish exists already, or if a name
// to look up or unpublish does not exist. An await ends with its name, or with a give_up of the
// same id. give_up and withdraw have no answer.
struct Name {
  NameAct act = NameAct::lookup;
  std::string name;
  std::string port = {};  // only to publish
  NameRange range = NameRange::job;
};

// One program of a spawn request, and the number of ranks that run it.
struct SpawnProgram {
  std::vector<std::string> argv;  // at least the program
  std::uint32_t ranks = 1;
  KeyValues infos;                    // hints; an unknown hint is no error
  std::vector<std::string> env = {};  // "K=V", beside those of the asker's program
  friend bool operator==(const SpawnProgram&, const SpawnProgram&) = default;
};
// The ranks of a world that are stopped until a debugger lets them go, by their numbers in that
// world.
struct Stops {
  RankSet on_exec;  // before the first instruction of their program
  RankSet in_init;  // in PMIx_Init; only used if ranks speak PMIx
  friend bool operator==(const Stops&, const Stops&) = default;
};
// The programs of one spawn; their ranks become one world.
struct SpawnRequest {
  std::vector<SpawnProgram> programs;
  KeyValues preput;  // pairs of the new ranks' world, there before they start
  Stops stops = {};
  friend bool operator==(const SpawnRequest&, const SpawnRequest&) = default;
};
// Starts more ranks, as a world of their own. The answer comes when all of them have been started,
// with the name of the world, or with an error if one could not be started. The part of an error
// has a number for each rank, separated by commas: 0 for a rank that was started, and ended again,
// 1 for another. It is empty for very many ranks.
struct Spawn {
  SpawnRequest request;
};

// Asks which ranks of the asker's world are known to have failed. Answered at once, as
// RankSet::text() of their numbers in that world.
struct Failed {};
// The rank asks for the end of the job with this exit code. Not answered.
struct Abort {
  std::int32_t code = 0;
  std::string why;  // the rank's message; may be empty
};
// The rank broke its protocol. The job ends, and the error names the rank. Not answered.
struct Violation {
  std::string why;  // for the user: what the rank did
};

using Request = std::variant<Put, Get, Collective, Send, Receive, Abort, Violation, PutNode,
                             GetNode, Name, Failed, Spawn>;

// The answer to a request.
struct Response {
  bool ok = true;
  std::string error{};  // if not ok: the reason, for the user
  bool found = false;   // Get, GetNode: there is such a pair
  // Get, GetNode: the value. Name: the port of a lookup. Failed: the ranks. Spawn: the world's
  // name, or the ranks' codes. gather (root), allgather, alltoall: one per member in rank order.
  // broadcast, scatter, Receive: one.
  std::vector<Chunk> parts{};
  // If not ok: members of the set asked for different operations.
  bool disagreement = false;

  // Returns the only part, or an empty text if there are none or several. Valid as long as the
  // part.
  std::string_view value() const {
    return parts.size() == 1 ? parts.front().view() : std::string_view();
  }
};

}  // namespace scela::ask
