// The conversation of a node's adapter engine (scela-hca) and its agent while the job runs, and how
// agents find the engines of other nodes. A LID tells no more than a node's number.
//
//   the engine:  listening ADDRESS    where other nodes' engines reach it; programs can connect
//                where NODE           which of those listens there?
//   the agent:   peer NODE ADDRESS KEY    there; KEY (64 digits) is that of connections to it
//                nobody NODE              none runs there
//
// A question goes to the agent of that node as a message with a service tag
// (nla/core/wire/request.h), from one of this node's ranks to one of the other's, and the answer
// comes back in the same way. No node keeps anything, and an engine is told only what it has asked.
// The key is good only for connections from the node that asks (common/crypto/engine_keys.h). The
// agents on the way between the two see it too; each of them is above one of the two and has that
// node's key anyway. If a message is lost, the engine asks again for as long as programs send
// something there.
//
// Pure: this part has no descriptor and no process. The shell feeds both sides
// (nla/ranks/engine_helper.h), and one thread at a time calls it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "nla/core/tree/actions.h"
#include "nla/core/wire/job.h"

namespace scela::nla {

// The last of all service tags; those of PMIx are lower (pmix_service.h, pmix_watch.h,
// pmix_copies.h).
inline constexpr std::uint32_t kEngineTag = kServiceTags + 15;

// The request id of these messages, which need no answer of their own. No other request has this
// id.
inline constexpr RequestId kEngineRequest = UINT64_MAX;

class EngineDirectory {
 public:
  struct Sides {
    std::function<void(std::string_view)> tell;  // tells the engine
    // The message goes to the agent that serves another node's ranks.
    std::function<void(Rank from, ask::Send send)> send;
    // The caller takes all that the engine has said until now: a question may be about that.
    std::function<void()> catch_up;
    // Returns the key by which that node's engine connects to this node's.
    std::function<std::string(std::uint32_t node)> key;
  };

  // `job`, `own` and what `sides` refers to are borrowed and must outlive the directory.
  EngineDirectory(const Job& job, const RankSet& own, Sides sides)
      : job_(job), own_(own), sides_(std::move(sides)) {}

  // Returns false if `text` is nothing that an engine says.
  bool said(std::string_view text);
  // Returns false if the message is not about engines.
  bool heard(const action::Reply& reply);
  // The engine has ended, so none listens any more.
  void ended() { listens_.clear(); }
  bool listens() const { return !listens_.empty(); }

 private:
  // Finds the engine of that node and tells this node's engine. Returns false if the text is no
  // number.
  bool ask(std::string_view number);

  const Job& job_;
  const RankSet& own_;
  Sides sides_;
  std::string listens_;  // empty: no engine listens
};

}  // namespace scela::nla
