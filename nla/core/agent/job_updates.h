// The job as it comes to an agent: its description, and the worlds and the hosts that are added
// while it runs. A world is a set of ranks that a rank added (PMI spawn). This part sets the other
// parts up for them and passes them on to the children, also to those that are started late. The
// agent's core uses it, and one thread at a time calls it. The root is the agent inside scela-run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nla/core/agent/lost_children.h"
#include "nla/core/agent/lost_nodes.h"
#include "nla/core/job/job_end.h"
#include "nla/core/job/local_ranks.h"
#include "nla/core/job/rank_failures.h"
#include "nla/core/job/verdict_reports.h"
#include "nla/core/kvs/rank_services.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"
#include "nla/core/tree/verdicts.h"

namespace scela::nla {

class JobUpdates {
 public:
  // All references are borrowed, from the same agent (agent_state.h).
  JobUpdates(Context& context, Children& children, Verdicts& verdicts, const JobEnd& job_end,
             LocalRanks& ranks, RankFailures& failures, VerdictReports& reports,
             LostChildren& lost_children, LostNodes& lost_nodes, RankServices& services,
             Spawns& spawns)
      : context_(context),
        children_(children),
        verdicts_(verdicts),
        job_end_(job_end),
        ranks_(ranks),
        failures_(failures),
        reports_(reports),
        lost_children_(lost_children),
        lost_nodes_(lost_nodes),
        services_(services),
        spawns_(spawns) {}

  // At the root: sends the job to all agents.
  void on(const event::Launch& event);
  // At the root: adds a world that the shell has planned, or refuses the request for it.
  void on(const event::Planned& event);
  // At the root: starts agents on more hosts.
  void on(const event::AddHosts& event);
  // Takes a piece of the job and passes it on. With the last piece, starts the ranks of this node.
  // Returns false if the message breaks the protocol.
  bool from_parent(const msg::JobBytes& message);
  // Takes a piece of a world. With the last piece, adds the world and starts its ranks of this
  // node. Returns false if the message breaks the protocol.
  bool from_parent(const msg::WorldBytes& message);
  // Kills ranks of a world that failed to start, and passes the order on. Returns false if the
  // message breaks the protocol.
  bool from_parent(const msg::EndRanks& message);

  // If the child was started while the ranks ran, sends it all that the other children were sent
  // since then. Does nothing if the job is being ended, because the child gets that order with the
  // others.
  void bring_up_to_date(Child& child);
  // Reports each slice of added hosts (event::AddHosts) that has all its agents. If the job was
  // launched early, gives verdicts to the ranks of nodes that get no agent. To be called after each
  // event.
  void advance();
  // Call it if the parent is lost. Drops the bytes of a world of which the last piece is missing:
  // the adopter sends that world again.
  void drop_partial() { bytes_.clear(); }
  // Returns the bytes of a job or world of which the last piece is missing.
  std::uint64_t held_bytes() const { return bytes_.size(); }

 private:
  // Sets up all parts for the job, which is known now, and starts the ranks of this node.
  void use_job(Job job);
  // Sets the ranks of this node, of the subtree and of each child.
  void use_map(const Job& job);
  // Reports as lost the ranks of nodes that have failed to start since the last call.
  void lose_absent();
  // Reports as lost the ranks of children that were ready once and were lost before the job was
  // known.
  void lose_lost();
  // Gives verdicts (Ending::cancelled) to the ranks of children that were not sent the job, because
  // it is being ended.
  void cancel_late();
  // Sends the child the job as it began.
  void send_job(const Child& child);
  // Adds a world to the job, tells the children, and starts its ranks of this node. `asker` is only
  // given at the root. Returns false if the world is malformed.
  bool add_world(const World& world, std::pair<Rank, RequestId> asker);
  // Adds `ranks`, those of world number `number`, to the children that have them, and sends each
  // child the world. Returns those of `ranks` that some child has.
  RankSet pass_on_world(std::size_t number, const RankSet& ranks);

  Context& context_;
  Children& children_;
  Verdicts& verdicts_;
  const JobEnd& job_end_;
  LocalRanks& ranks_;
  RankFailures& failures_;
  VerdictReports& reports_;
  LostChildren& lost_children_;
  LostNodes& lost_nodes_;
  RankServices& services_;
  Spawns& spawns_;
  // Bytes of the job that were received so far; later those of a world.
  std::string bytes_;
  std::vector<Slice> growing_;  // added slices that still lack agents
  std::size_t absent_ = 0;      // of Children::failures(): those that lose_absent() has reported
};

}  // namespace scela::nla
