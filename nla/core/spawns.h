// Ranks that ask for more ranks (PMI spawn), and what becomes of those.
//
// A question goes up to the root, whose shell plans: which node starts what. The plan comes down to
// every agent as a World (nla/core/job.h) and is added to the job; each says up when its ranks of
// it have been started. When all have, the asker is told its name. When one could not be, the
// others are ended again, which counts as nobody's failure, and the asker is told that. The asker's
// own agent knows what it waits for, as with names (names.h).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nla/core/children.h"
#include "nla/core/context.h"
#include "nla/core/request.h"
#include "nla/core/verdicts.h"

namespace scela::nla {

class Spawns {
 public:
  Spawns(Context& context, Children& children) : context_(context), children_(children) {}

  void ask(Rank rank, RequestId id, const ask::Spawn& wanted);
  // False: the message breaks the protocol; the link must end.
  bool receive(const Child& from, const msg::SpawnAsked& message);
  bool receive(const Child& from, const msg::WorldLaunched& message);
  bool receive(const msg::SpawnAnswer& message);
  void ranks_ended(const RankSet& ranks);
  // The way to the root was lost, here or above.
  void cut_off();

  // The root: `text` is why not.
  void refuse(Rank rank, RequestId id, const std::string& text);
  // The job has a world more. `asker`: at the root.
  void began(std::pair<Rank, RequestId> asker = {});
  // A rank of a world was not started.
  void not_started(Rank rank, std::int32_t error, const std::string& why);
  // Says what is known of worlds whose ranks below have all been started or will not be. `ended`:
  // the job is being ended.
  void advance(const RankSet& started, const Verdicts& verdicts, bool ended);
  // There is a new parent, which may not have heard.
  void tell_again();
  // To a child that was adopted and has so many.
  void send_worlds(const Child& child, std::size_t has);
  void send_world(const Child& child, std::size_t world);

  // Ranks that are not to run, or not to run on.
  RankSet unwanted;

 private:
  struct Launch {
    std::pair<Rank, RequestId> asker;  // the root's
    RankSet started;                   // below this node; all of them once it was told
    std::int32_t error = 0;            // of one that was not
    std::string why;
    std::set<LinkId> heard;
    bool told = false;
  };

  bool way_is_lost() const { return context_.orphaned || context_.parent_lost; }
  void answer(const msg::SpawnAnswer& message);
  void tell(std::size_t world);
  void conclude(std::size_t world, bool ended);

  Context& context_;
  Children& children_;
  std::set<std::pair<Rank, RequestId>> waiting_;  // of this node
  std::vector<Launch> launches_;                  // of world 1 and on
  std::size_t untold_ = 0;                        // of them
};

}  // namespace scela::nla
