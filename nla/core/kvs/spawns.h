// Requests of ranks for more ranks (PMI spawn), and the launch of those. The agent's core uses this
// part, and one thread at a time calls it.
//
// A question goes up to the root, and the root's shell plans which node starts what. The plan comes
// down to every agent as a World (nla/core/wire/job.h) and is added to the job. Each agent says up
// when its ranks of the world have been started. When all have, the asker is told the world's name.
// If one could not be started, the others are ended again, and the asker is told that. Their end
// counts as no rank's failure. The asker's own agent knows what the rank waits for, as with names
// (names.h).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nla/core/tree/children.h"
#include "nla/core/tree/context.h"
#include "nla/core/tree/verdicts.h"
#include "nla/core/wire/request.h"

namespace scela::nla {

class Spawns {
 public:
  Spawns(Context& context, Children& children) : context_(context), children_(children) {}

  // A rank of this node asks. An action::Reply with `id` answers it later, or at once if it is
  // refused.
  void ask(Rank rank, RequestId id, const ask::Spawn& wanted);
  // Return false if the message breaks the protocol; the link must end then.
  bool receive(const Child& from, const msg::SpawnAsked& message);
  bool receive(const Child& from, const msg::WorldLaunched& message);
  bool receive(const msg::SpawnAnswer& message);
  // These ranks of this node ended. They are not answered any more.
  void ranks_ended(const RankSet& ranks);
  // The way to the root was lost, here or above. Requests that are in flight fail.
  void cut_off();

  // At the root: refuses a request, for the reason `text`.
  void refuse(Rank rank, RequestId id, const std::string& text);
  // The job has one more world. `asker` is only given at the root.
  void began(std::pair<Rank, RequestId> asker = {});
  // A rank of a world was not started; `error` is an errno.
  void not_started(Rank rank, std::int32_t error, const std::string& why);
  // Reports each world with ranks below that have all been started or will not be. `ended` says
  // that the job is being ended.
  void advance(const RankSet& started, const Verdicts& verdicts, bool ended);
  // Repeats the reports to a new parent, which may not have heard them.
  void tell_again();
  // send_worlds() sends a child the worlds after the first `has` ones, and the ranks of it that are
  // to end. send_world() sends it world number `world`, from 1 on.
  void send_worlds(const Child& child, std::size_t has);
  void send_world(const Child& child, std::size_t world);

  // Ranks that are not to start, or not to go on.
  RankSet unwanted;

 private:
  struct Launch {
    std::pair<Rank, RequestId> asker;  // at the root
    RankSet started;                   // below this node; complete once told
    std::int32_t error = 0;            // errno of a rank that was not started
    std::string why;
    std::set<LinkId> heard;
    bool told = false;
  };

  bool way_is_lost() const { return context_.orphaned || context_.parent_lost; }
  // Replies to the asker if it is on this node. Otherwise sends the answer to the child that leads
  // to it.
  void answer(const msg::SpawnAnswer& message);
  // Tells the parent what was started of a world, or why not.
  void tell(std::size_t world);
  // At the root: tells the asker and the agent's shell (its system calls) what became of a world.
  // If a rank was not started, ends the others, unless `ended` says that all ranks are being ended.
  void conclude(std::size_t world, bool ended);

  Context& context_;
  Children& children_;
  std::set<std::pair<Rank, RequestId>> waiting_;  // askers on this node
  std::vector<Launch> launches_;                  // from world 1 on
  std::size_t untold_ = 0;                        // number of launches not told
};

}  // namespace scela::nla
