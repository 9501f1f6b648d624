// Translates what the PMIx server of a node asks into the collective primitives, and their answers
// back: a state machine between pmix/core/messages.h and nla/core/wire/request.h. The shell uses
// it.
//
// It has a part for each kind of question: pmix_worlds.h, pmix_fences.h, pmix_names.h; pmix_data.h
// has the data that ranks of other nodes have put; pmix_watch.h and pmix_copies.h serve tools.
// pmix_ranks.h knows the ranks of this node, pmix_questions.h what the agent was asked. Ranks that
// ask for more ranks are heard like those of the other protocols (nla/core/kvs/spawns.h).
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
#include "nla/core/wire/request.h"
#include "pmix/core/messages.h"

namespace scela::nla {

class PmixService {
 public:
  // The callbacks are called only from within calls of the service, never later.
  struct Sides {
    std::function<void(pmix::Message)> tell;            // tells the server
    std::function<void(Rank, RequestId, Request)> ask;  // asks the agent
    // Returns true if the rank's process is on its way out; the server may know that before the
    // agent is told. If absent, no process is.
    std::function<bool(Rank)> is_leaving = nullptr;
    // For a rank of this node: process() returns its process id, or 0 if it has none. kill() sends
    // it a signal. write() puts text among its output and returns false if that stream has ended.
    // If they are absent, there are no processes.
    std::function<std::uint32_t(Rank)> process = nullptr;
    std::function<void(Rank, std::int32_t)> kill = nullptr;
    std::function<bool(Rank, bool error, std::string)> write = nullptr;
    // Starts a process that connects in the name of a rank that has ended, and ends. If absent,
    // there is none.
    std::function<void(Rank)> stand_in = nullptr;
  };
  // `own` are the ranks of this node, which is `node`. `job` and `own` are borrowed: they must
  // outlive the service, and may grow.
  PmixService(const Job& job, const RankSet& own, std::uint32_t node, Sides sides);

  // Tells the server of the worlds of the job that it does not know yet. The caller calls this
  // first, and again whenever there are more worlds.
  void tell_worlds() { worlds_.tell_new(); }

  // Returns false if no server of this kind says that here; the shell must not speak to it any
  // more.
  bool receive(pmix::Message message);
  // The agent has answered a request of Sides::ask, or a message of another node has come.
  void reply(const action::Reply& reply);
  // A rank of this node has ended. The agent must still accept requests of that rank.
  void rank_ended(Rank rank);
  // Notes how a rank ended, for servers that ask. The caller calls this after rank_ended(), or for
  // a rank that was not started.
  void note_end(const pmix::Process& process);
  // A rank of this node has written these bytes. A tool may want to see them.
  void output(Rank rank, bool error, std::string_view bytes) { copies_.output(rank, error, bytes); }
  // Ranks of this job, on any node, failed and the job goes on without them.
  void peers_failed(const RankSet& ranks);
  // The agents of these nodes are gone. The caller reports known failures there before.
  void nodes_lost(const RankSet& nodes);
  // Messages in flight between these ranks and all others may be lost (action::Reconnected).
  void reconnected(const RankSet& ranks);

  // Returns the number of worlds, from the first on, that may start their ranks.
  std::size_t ready_worlds() const { return worlds_.ready(); }
  const std::string& fault() const { return fault_; }  // the failure that the server reported
  // Returns the variables (K=V) that the server wants the rank to have. All are there once the
  // rank's world is ready.
  const std::vector<std::string>& environment(Rank rank) const { return worlds_.environment(rank); }
  // Returns true if the rank called PMIx_Init and not PMIx_Finalize.
  bool unfinished(Rank rank) const { return ranks_.is_connected(rank); }

 private:
  // These two return false if no server of this kind says that here.
  bool abort(pmix::msg::Abort& message);
  bool spawn(pmix::msg::Spawn& message);
  // Return the callbacks of the parts, which go to sides_.
  PmixWatch::Sides watch_sides();
  PmixCopies::Sides copies_sides();
  PmixData::Sides data_sides();
  // Returns the present state of a rank of this node that has not ended.
  pmix::Process look(Rank rank) const;
  // A message of another node's agent has come.
  void heard(const action::Reply& message);

  const Job& job_;
  const RankSet& own_;
  Sides sides_;
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
