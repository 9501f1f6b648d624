// What a node's adapter engine (scela-hca) and its agent say to each other while the job runs, and
// how agents find the engines of other nodes: a LID tells no more than a node's number.
//
//   the engine:  listening ADDRESS    where other nodes' engines reach it; programs can connect
//                where NODE           which of those listens there?
//   the agent:   peer NODE ADDRESS KEY    there; KEY (64 digits) is that of connections to it
//                nobody NODE              none runs there
//
// A question goes to the agent of that node as a message for who serves ranks (request.h), from one
// of this node's ranks to one of the other's, and comes back so; nothing is kept, on no node, and
// nobody is told of what he has not asked. The key is good for connections from the node that asks
// only (common/crypto/engine_keys.h); besides the two agents those on the way between them see it,
// which are above one of the two and have its node's key anyway. Where a message is lost the engine
// asks again, for as long as programs send something there.
//
// Pure: no descriptor, no process. The shell feeds both sides (engine_helper.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "nla/core/actions.h"
#include "nla/core/job.h"

namespace scela::nla {

// Of all service tags the last: those of PMIx are lower (pmix_desk.h, pmix_watch.h, pmix_copies.h).
inline constexpr std::uint32_t kEngineTag = kServiceTags + 15;

// Of those messages, which need no answer of their own; no other request has this id.
inline constexpr RequestId kEngineRequest = UINT64_MAX;

class EngineDesk {
 public:
  struct Sides {
    std::function<void(std::string_view)> tell;           // the engine
    std::function<void(Rank from, ask::Send send)> send;  // to who serves another node's ranks
    // What the engine has said until now is to be taken: a question may be about that.
    std::function<void()> catch_up;
    // The key by which that node's engine connects to this node's.
    std::function<std::string(std::uint32_t node)> key;
  };

  // All are borrowed.
  EngineDesk(const Job& job, const RankSet& own, Sides sides)
      : job_(job), own_(own), sides_(std::move(sides)) {}

  // False: that is nothing that an engine says.
  bool said(std::string_view text);
  // False: this is not about engines.
  bool heard(const action::Reply& reply);
  void ended() { listens_.clear(); }
  bool listens() const { return !listens_.empty(); }

 private:
  bool ask(std::string_view number);

  const Job& job_;
  const RankSet& own_;
  Sides sides_;
  std::string listens_;  // empty: it does not, or does not run
};

}  // namespace scela::nla
