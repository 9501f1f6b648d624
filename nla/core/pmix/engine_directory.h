// How agents find the adapter engines of other nodes. An agent is the process of the job on one
// node; an engine (scela-hca) is the process beside it that stands for an InfiniBand adapter. A LID
// has a node's number and no address, so an engine asks its agent. They exchange lines of text
// while the job runs:
//
//   the engine:  listening ADDRESS    where other nodes' engines reach it; programs can connect
//                where NODE           which of those listens there?
//   the agent:   peer NODE ADDRESS KEY    there; KEY (64 digits) is that of connections to it
//                nobody NODE              none runs there
//
// A question goes to the agent of that node as a message with a service tag
// (nla/core/wire/request.h). Its sender and receiver are ranks of the two nodes, and the answer
// comes back in the same way. No node keeps anything, and an engine is told only what it has asked.
// The key is good only for connections from the node that asks (common/crypto/engine_keys.h). The
// agents between the two see it too; each of them is above one of the two and has that node's key
// anyway. If a message is lost, the engine asks again for as long as programs send something there.
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
  // The functions by which the directory reaches the engine and other agents.
  struct Sides {
    // Sends a line, without a newline, to this node's engine.
    std::function<void(std::string_view)> tell;
    // Sends a message of rank `from` of this node to the agent of another node's rank.
    std::function<void(Rank from, ask::Send send)> send;
    // Reads all that the engine has sent until now and passes it to said(). A question may be about
    // that.
    std::function<void()> catch_up;
    // Returns the key by which that node's engine connects to this node's.
    std::function<std::string(std::uint32_t node)> key;
  };

  // `job`, `own` and what `sides` refers to are borrowed and must outlive the directory.
  EngineDirectory(const Job& job, const RankSet& own, Sides sides)
      : job_(job), own_(own), sides_(std::move(sides)) {}

  // Takes a line of this node's engine, without its newline. Returns false if no engine sends such
  // a line.
  bool said(std::string_view text);
  // Takes a message or an answer that the core has for a rank of this node. Returns false if it is
  // not about engines; the caller then treats it.
  bool heard(const action::Reply& reply);
  // Call it when the engine has ended, so that other nodes are told that none listens.
  void ended() { listens_.clear(); }
  // Returns true if the engine has sent its address and has not ended.
  bool listens() const { return !listens_.empty(); }

 private:
  // Asks the agent of the node with this number (decimal) for its engine, or answers the engine at
  // once. Returns false if the text is no number.
  bool ask(std::string_view number);

  const Job& job_;
  const RankSet& own_;
  Sides sides_;
  std::string listens_;  // empty: no engine listens
};

}  // namespace scela::nla
