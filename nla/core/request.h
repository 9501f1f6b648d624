// The collective primitives, as a rank asks for them and is answered (thesis section 2.2.3).
//
// Protocols (PMI, PMGR, PMIx) translate into these; they know of no tree, and the tree of no
// protocol. A rank has at most one collective per set and tag in flight; sends, puts and gets may
// overlap it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/chunk.h"
#include "common/core/rank_set.h"
#include "nla/core/messages.h"
#include "nla/core/spawn_request.h"

namespace scela::nla {

using RequestId = std::uint64_t;  // chosen by the asker, unique per rank, not 0
// Of what comes without having been asked for.
inline constexpr RequestId kUnasked = 0;
// Messages with this tag or a higher one are for who serves the destination on its node, not for
// the rank itself: handed over at once, as a response with the parts source (varint), tag (varint)
// and bytes, whether or not the rank has ended.
inline constexpr std::uint32_t kServiceTags = 0xfffffff0;

namespace ask {

// NLA_Put. Answered at once; visible on the node at once, everywhere after the next fence.
struct Put {
  std::string key;
  Chunk value;
};
// NLA_Get. `wait`: answered when the pair becomes visible here, else at once with not found.
struct Get {
  std::string key;
  bool wait = false;
};
// Barrier, fence (a barrier that makes puts visible), gather, broadcast, allgather, scatter,
// alltoall among the ranks of `set`, all of whom must call with the same kind and root.
//   parts: barrier, fence: none. gather, allgather: one, the caller's. broadcast: one, root only.
//   scatter: one per member in rank order, root only. alltoall: one per member in rank order.
struct Collective {
  CollectiveKind kind = CollectiveKind::barrier;
  RankSet set;
  Rank root = 0;
  std::vector<Chunk> parts;
  std::uint32_t tag = 0;  // operations of one set with different tags are apart, and may overlap
};
// NLA_Send: answered at once; delivered in order per source and tag.
struct Send {
  Rank destination = 0;
  std::uint32_t tag = 0;
  Chunk bytes;
};
// NLA_Recv: answered when a matching message is there.
struct Receive {
  Rank source = 0;
  std::uint32_t tag = 0;
};
// What the ranks of one node share and nobody else sees. Put: answered at once. Get: `wait`:
// answered when a rank of the node has put it, else at once, found or not.
struct PutNode {
  std::string key;
  std::string value;
};
struct GetNode {
  std::string key;
  bool wait = false;
};
// Names of the whole job. An error: to publish one that is there, to look up or unpublish one that
// is not. Await is answered when it is there, or was given up by a question with the same id. What
// gives up or withdraws has no answer of its own.
struct Name {
  NameAct act = NameAct::lookup;
  std::string name;
  std::string port = {};  // publish
  NameRange range = NameRange::job;
};
// More ranks, as a world of their own (nla/core/job.h): answered when all of them have been
// started, with its name, or when one could not be, with an error. Its part is then what became of
// each, as numbers with commas: 0 for those that were started, and ended again.
struct Spawn {
  SpawnRequest request;
};
// Which ranks of the asker's world have failed and are known to: answered at once, as
// RankSet::text() of their numbers in that world.
struct Failed {};
// PMI finalize was called or the rank asks for the end of the job.
struct Abort {
  std::int32_t code = 0;
  std::string why;
};
// The rank broke its protocol: the job ends with it named.
struct Violation {
  std::string why;
};

}  // namespace ask

using Request =
    std::variant<ask::Put, ask::Get, ask::Collective, ask::Send, ask::Receive, ask::Abort,
                 ask::Violation, ask::PutNode, ask::GetNode, ask::Name, ask::Failed, ask::Spawn>;

struct Response {
  bool ok = true;
  std::string error;   // when !ok, for a person
  bool found = false;  // get
  // get: the value. lookup: the port. gather (root), allgather, alltoall: one per member in rank
  // order. broadcast, scatter, receive: one.
  std::vector<Chunk> parts;
  bool disagreement = false;  // when !ok: members of the set asked for different things
};

}  // namespace scela::nla
