// The conversation of a node's adapter engine (scela-hca) and its agent while the job runs, and how
// agents find the engines of other nodes. The engine is the process that executes the requests of
// the software InfiniBand adapter on a node. A LID tells no more than a node's number.
//
//   the engine:  listening ADDRESS    engines of other nodes reach it there; programs can connect
//                where NODE           asks where the engine of that node listens
//   the agent:   peer NODE ADDRESS KEY    it listens there; KEY, 64 digits, connects to it
//                nobody NODE              no engine runs on that node
//
// A question goes to the agent of that node as a message with a service tag
// (nla/core/wire/request_names.h). Its sender and receiver are ranks of the two nodes, and the
// answer comes back in the same way. No node keeps anything, and an engine is told only what it has
// asked. The key is good only for connections from the node that asks
// (common/crypto/engine_keys.h). The agents between the two see it too; each of them is above one
// of the two and has that node's key anyway. If a message is lost, the engine asks again for as
// long as programs send something there.
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

// The service tag of these messages, the last of all; those of PMIx are lower (pmix_service.h,
// pmix_watch.h, pmix_copies.h).
inline constexpr std::uint32_t kEngineTag = kServiceTags + 15;

// The request id of these messages, which need no answer of their own. No other request has this
// id.
inline constexpr RequestId kEngineRequest = UINT64_MAX;

class EngineDirectory {
 public:
  // The functions that the owner lends. They are called only from within calls of this object.
  struct Callbacks {
    std::function<void(std::string_view)> tell;  // sends this line to the engine
    // Makes the request of the core in the name of `from`: the message goes to the agent of the
    // node of send.destination.
    std::function<void(Rank from, ask::Send send)> send;
    // Calls said() for all lines that the engine has written until now.
    std::function<void()> catch_up;
    // Returns the key, 32 bytes, by which the engine of `node` connects to that of this node.
    std::function<std::string(std::uint32_t node)> key;
  };

  // `own` are the ranks of this node. `job`, `own` and what `sides` refers to are borrowed and must
  // outlive the directory.
  EngineDirectory(const Job& job, const RankSet& own, Callbacks sides)
      : job_(job), own_(own), sides_(std::move(sides)) {}

  // Handles a line of this node's engine, given without its newline. Returns false if it is none of
  // the lines above.
  bool said(std::string_view text);
  // Handles `reply` if it is a message of another agent about engines: a question, or the answer to
  // one of this node. Returns false if it is another message.
  bool heard(const action::Reply& reply);
  // Called when the engine of this node has ended: other nodes are then told that none runs here.
  void ended() { listens_.clear(); }
  // Returns true if the engine has sent its address, so that programs can connect.
  bool listens() const { return !listens_.empty(); }

 private:
  // Asks the agent of the node with this decimal number where its engine is, or answers at once
  // that none runs there. Returns false if the text is no number.
  bool ask(std::string_view number);

  const Job& job_;
  const RankSet& own_;
  Callbacks sides_;
  std::string listens_;  // empty: no engine listens
};

}  // namespace scela::nla
