// Requests of ranks for more ranks (PMI spawn), and the start of those. The agent's core uses this
// part, and one thread at a time calls it. Each node has one agent; the root of the tree of agents
// is inside scela-run.
//
// A request goes up to the root, and the root's shell (the code around its core) plans which node
// starts what. The plan comes down to every agent as a World (nla/core/wire/job.h) and is added to
// the job. World 0 is the ranks that the job began with. Each agent reports to its parent when the
// ranks of the world in its subtree have been started. When all have, the rank that asked is sent
// the world's name. If one could not be started, the others are ended again, and the asker gets an
// error. Their end counts as no rank's failure. The asker's own agent knows what the rank waits
// for, as with names (names.h).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"
#include "nla/core/tree/verdicts.h"
#include "nla/core/wire/request_names.h"

namespace scela::nla {

class Spawns {
 public:
  // The references are borrowed.
  Spawns(Context& context, Children& children) : context_(context), children_(children) {}

  // Sends a request of a rank of this node up. An action::Reply with `id` answers it later, or at
  // once if it is refused.
  void ask(Rank rank, RequestId id, const ask::Spawn& wanted);
  // Passes a request of a rank below on: at the root to the shell, elsewhere upwards. Returns false
  // if the message breaks the protocol; the caller ends the link then.
  bool receive(const Child& from, const msg::SpawnAsked& message);
  // Takes a child's report of which ranks of a world were started. Returns false if the message
  // breaks the protocol.
  bool receive(const Child& from, const msg::WorldLaunched& message);
  // Takes an answer from above: replies to the rank if it is on this node, and sends it down
  // elsewhere. Returns false if the message breaks the protocol.
  bool receive(const msg::SpawnAnswer& message);
  // Call it if these ranks of this node ended. Their requests are not answered any more.
  void ranks_ended(const RankSet& ranks);
  // Call it if the connection to the root was lost, here or above. Requests that are in flight are
  // answered with an error.
  void cut_off();

  // At the root: answers a request with the error `text`.
  void refuse(Rank rank, RequestId id, const std::string& text);
  // Call it when a world was added to the job. `asker` is the rank and its request, and is only
  // given at the root.
  void began(std::pair<Rank, RequestId> asker = {});
  // Call it if a rank of this node was not started; `error` is an errno. The error is reported with
  // its world. Ranks of world 0 are ignored.
  void not_started(Rank rank, std::int32_t error, const std::string& why);
  // Reports, once for each world, that its ranks in the subtree have all been started or will not
  // be. `started` are the ranks of this node that have been started. `ended` says that the job is
  // being ended. To be called after each event.
  void advance(const RankSet& started, const Verdicts& verdicts, bool ended);
  // Sends all reports again, to a new parent that may not have got them.
  void repeat_reports();
  // Sends a child the worlds after the first `has` ones, and which ranks of its subtree are to end.
  void send_worlds(const Child& child, std::size_t has);
  // Sends a child world number `world`, from 1 on.
  void send_world(const Child& child, std::size_t world);

  // Ranks that are not to be started, or are to be killed if they run, because their world failed
  // to start.
  RankSet unwanted;

 private:
  // The start of one world.
  struct Launch {
    std::pair<Rank, RequestId> asker;  // at the root
    RankSet started;                   // below this node; complete once reported
    std::int32_t error = 0;            // errno of a rank that was not started
    std::string why;
    std::set<LinkId> heard;  // children that have reported
    bool told = false;       // the report was sent
  };

  // Returns true if this agent has no parent now, so that no request reaches the root.
  bool has_no_parent() const { return context_.orphaned || context_.parent_lost; }
  // Replies to the asker if it is on this node. Otherwise sends the answer to the child that leads
  // to it.
  void answer(const msg::SpawnAnswer& message);
  // Reports to the parent which ranks of a world were started, or why not.
  void tell(std::size_t world);
  // At the root: reports to the asker and to the shell (the code with system calls) what became of
  // a world. If a rank was not started, ends the others, unless `ended` says that all ranks are
  // being ended.
  void conclude(std::size_t world, bool ended);

  Context& context_;
  Children& children_;
  std::set<std::pair<Rank, RequestId>> waiting_;  // askers on this node
  std::vector<Launch> launches_;                  // from world 1 on
  std::size_t unreported_ = 0;                    // number of launches not reported
};

}  // namespace scela::nla
