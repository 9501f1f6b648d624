// Carries out the questions of a node's PMIx server (scela-pmix) by requests to the agent, and
// answers them: a state machine between pmix/core/pmix_messages.h and
// common/core/requests/rank_request.h. The shell uses it.
//
// It has a part for each kind of request: pmix_worlds.h, pmix_fences.h, pmix_names.h; pmix_data.h
// has the data that ranks of other nodes have put; pmix_watch.h and pmix_copies.h serve tools.
// pmix_ranks.h knows the ranks of this node, pmix_questions.h what the agent was asked. Ranks that
// ask for more ranks are treated like those of the other protocols (nla/core/kvs/spawns.h). Such
// ranks form a world (nla/core/wire/job.h), a namespace of PMIx.
//
// Pure: this part has no descriptor and no process. The shell feeds both sides and owns both ends
// (nla/ranks/pmix_helper.h). It has no lock, and one thread at a time calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nla/core/pmix/pmix_copies.h"
#include "nla/core/pmix/pmix_data.h"
#include "nla/core/pmix/pmix_fences.h"
#include "nla/core/pmix/pmix_names.h"
#include "nla/core/pmix/pmix_questions.h"
#include "nla/core/pmix/pmix_ranks.h"
#include "nla/core/pmix/pmix_watch.h"
#include "nla/core/pmix/pmix_worlds.h"
#include "nla/core/tree/actions.h"
#include "nla/core/wire/job.h"
#include "nla/core/wire/request_names.h"
#include "pmix/core/pmix_messages.h"

namespace scela::nla {

class PmixService {
 public:
  // The functions that the owner lends. They are called only from within calls of the service,
  // never later.
  struct Callbacks {
    std::function<void(pmix::Message)> tell;  // sends this message to the server
    // Makes a request of the agent in the name of a rank of this node; reply() brings the answer.
    std::function<void(Rank, RequestId, Request)> ask;
    // Returns true if the rank's process is on its way out; the server may know that before the
    // agent is told. If absent, no process is.
    std::function<bool(Rank)> is_leaving = nullptr;
    // For a rank of this node: process() returns its process id, or 0 if it has none. kill() sends
    // it a signal. write() puts text among its output and returns false if that stream has ended.
    // If they are absent, there are no processes.
    std::function<std::uint32_t(Rank)> process = nullptr;
    std::function<void(Rank, std::int32_t)> kill = nullptr;
    std::function<bool(Rank, bool error, std::string)> write = nullptr;
    // Lets ranks of this node go that are, or are to be, stopped at their start. May be absent.
    std::function<void(const RankSet&)> release = nullptr;
    // Starts a process that connects in the name of a rank that has ended, and ends. If absent,
    // there is none.
    std::function<void(Rank)> stand_in = nullptr;
  };
  // `own` are the ranks of this node, which has the number `node`. `job` and `own` are borrowed:
  // they must outlive the service, and may grow.
  PmixService(const Job& job, const RankSet& own, std::uint32_t node, Callbacks sides);

  // Sends the server the worlds of the job that it does not know yet; a world is the ranks of the
  // command, or those of one spawn. The caller calls this first, and again whenever there are more
  // worlds.
  void tell_worlds() { worlds_.tell_new(); }

  // Handles a message of the server. Returns false if it breaks the protocol; the shell must then
  // end the server.
  bool receive(pmix::Message message);
  // Handles the agent's answer to a request of Sides::ask, or a message of another node's agent (id
  // kUnasked).
  void reply(const action::Reply& reply);
  // Called when a rank of this node has ended: its open questions are answered with `failed`. The
  // agent must still accept requests of that rank.
  void rank_ended(Rank rank);
  // Called when a rank of this node was stopped before the first instruction of its program.
  void rank_stopped(Rank rank) { sides_.tell(pmix::msg::Stopped{rank}); }
  // Notes how a rank ended, for servers that ask. The caller calls this after rank_ended(), or for
  // a rank that was not started.
  void note_end(const pmix::Process& process);
  // Passes bytes that a rank of this node has written to the tools that want copies. `error` is
  // true for standard error.
  void output(Rank rank, bool error, std::string_view bytes) { copies_.output(rank, error, bytes); }
  // Called when ranks of this job, on any node, have failed and the job goes on without them.
  void peers_failed(const RankSet& ranks);
  // Called when the agents of these nodes (node numbers) are gone. The caller calls peers_failed()
  // for known failures there before.
  void nodes_lost(const RankSet& nodes);
  // Called when messages in flight between these ranks and all others may be lost
  // (action::Reconnected): asks again where that matters.
  void reconnected(const RankSet& ranks);

  // Returns the number of worlds, from the first on, with a server that is ready: their ranks may
  // be started.
  std::size_t ready_worlds() const { return worlds_.ready(); }
  // Returns the reason that the server gave why it cannot serve, or an empty string.
  const std::string& fault() const { return fault_; }
  // Returns the variables (K=V) that the server wants the rank to have. All are there once the
  // rank's world is ready.
  const std::vector<std::string>& environment(Rank rank) const { return worlds_.environment(rank); }
  // Returns true if the rank called PMIx_Init and not PMIx_Finalize.
  bool unfinished(Rank rank) const { return ranks_.is_connected(rank); }

 private:
  // Carry out a message of the server by which a rank ends the job or spawns ranks. Return false if
  // the message breaks the protocol.
  bool abort(pmix::msg::Abort& message);
  // Takes PMIx_Spawn of a rank: asks the agent for more ranks. Returns false if the message breaks
  // the protocol.
  bool spawn(pmix::msg::Spawn& message);
  // Lets ranks of this node go. Returns false if the message names a rank of another node.
  bool release(const pmix::msg::Release& message);
  // Return the callbacks for a part of the service; they call those of sides_.
  PmixWatch::Callbacks watch_sides();
  PmixCopies::Callbacks copies_sides();
  PmixData::Callbacks data_sides();
  // Returns the present state of a rank of this node that has not ended.
  pmix::Process look(Rank rank) const;
  // Passes a message of another node's agent to the part that it is for.
  void heard(const action::Reply& message);

  const Job& job_;
  const RankSet& own_;
  Callbacks sides_;
  std::string fault_;
  PmixQuestions questions_;
  PmixWorlds worlds_;
  PmixRanks ranks_;
  PmixFences fences_;
  PmixNames names_;
  PmixWatch watch_;
  PmixCopies copies_;
  PmixData data_;
};

}  // namespace scela::nla
