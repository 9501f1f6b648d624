// The collective primitives, as a rank asks for them and is answered (thesis section 2.2.3).
//
// The protocols (PMI, PMGR, PMIx) translate into these primitives. The protocols know of no tree,
// and the tree knows of no protocol. A rank has at most one collective for each set and tag in
// flight; sends, puts and gets may overlap it. Values only, for any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/chunk.h"
#include "common/core/rank_set.h"
#include "nla/core/wire/messages.h"
#include "nla/core/wire/spawn_request.h"

namespace scela::nla {

using RequestId = std::uint64_t;  // chosen by the asker; unique in its rank
// The id of a message that comes without having been asked for.
inline constexpr RequestId kUnasked = 0;
// Messages with this tag or a higher one are for the server of the destination on its node, not for
// the rank itself. They are handed over at once, as a response with the parts source (varint), tag
// (varint) and bytes, even if the rank has ended.
inline constexpr std::uint32_t kServiceTags = 0xfffffff0;

namespace ask {

// NLA_Put. Answered at once. The pair is visible on the node at once, and everywhere after the next
// fence.
struct Put {
  std::string key;
  Chunk value;
};
// NLA_Get. If `wait` is true, it is answered when the pair becomes visible here. Otherwise it is
// answered at once, perhaps with not found.
struct Get {
  std::string key;
  bool wait = false;
};
// Barrier, fence (a barrier that makes puts visible), gather, broadcast, allgather, scatter or
// alltoall among the ranks of `set`. All of them must call with the same kind and root.
//   parts: barrier, fence: none. gather, allgather: one, the caller's. broadcast: one, root only.
//   scatter: one per member in rank order, root only. alltoall: one per member in rank order.
struct Collective {
  CollectiveKind kind = CollectiveKind::barrier;
  RankSet set;
  Rank root = 0;
  std::vector<Chunk> parts;
  // Operations of one set with different tags are apart and may overlap.
  std::uint32_t tag = 0;
};
// NLA_Send. Answered at once; delivered in order for each source and tag.
struct Send {
  Rank destination = 0;
  std::uint32_t tag = 0;
  Chunk bytes;
};
// NLA_Recv. Answered when a matching message is there.
struct Receive {
  Rank source = 0;
  std::uint32_t tag = 0;
};
// Pairs that the ranks of one node share and no other rank sees. PutNode is answered at once. If
// `wait` is true, GetNode is answered when a rank of the node has put the pair; otherwise at once,
// found or not.
struct PutNode {
  std::string key;
  std::string value;
};
struct GetNode {
  std::string key;
  bool wait = false;
};
// Names of the whole job. It is an error to publish a name that is there, and to look up or
// unpublish one that is not. Await is answered when the name is there, or when a question with the
// same id gives it up. give_up and withdraw have no answer of their own.
struct Name {
  NameAct act = NameAct::lookup;
  std::string name;
  std::string port = {};  // only to publish
  NameRange range = NameRange::job;
};
// More ranks, as a world of their own (nla/core/wire/job.h). The answer comes when all of them have
// been started, with the world's name, or with an error when one could not be started. The part of
// an error says what became of each rank, as numbers with commas: 0 for a rank that was started,
// and ended again. It is empty for very many ranks.
struct Spawn {
  SpawnRequest request;
};
// Asks which ranks of the asker's world are known to have failed. Answered at once, as
// RankSet::text() of their numbers in that world.
struct Failed {};
// The rank asks for the end of the job.
struct Abort {
  std::int32_t code = 0;
  std::string why;
};
// The rank broke its protocol. The job ends and names the rank.
struct Violation {
  std::string why;
};

}  // namespace ask

using Request =
    std::variant<ask::Put, ask::Get, ask::Collective, ask::Send, ask::Receive, ask::Abort,
                 ask::Violation, ask::PutNode, ask::GetNode, ask::Name, ask::Failed, ask::Spawn>;

struct Response {
  bool ok = true;
  std::string error;   // if not ok: the reason, to print
  bool found = false;  // only to a get
  // get: the value. lookup: the port. gather (root), allgather, alltoall: one per member in rank
  // order. broadcast, scatter, receive: one.
  std::vector<Chunk> parts;
  // If not ok: members of the set asked for different things.
  bool disagreement = false;
};

}  // namespace scela::nla
