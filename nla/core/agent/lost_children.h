// The loss of children: what follows when a child's link or process ends before the child said
// Done, its last message. If the job goes on without lost agents (OnFailure::wait), this agent
// adopts the children that a lost child has left behind (the orphans). docs/design/protocol.md has
// the reasons. The agent's core uses this part, and one thread at a time calls it.
#pragma once

#include <string>
#include <vector>

#include "nla/core/agent/lost_nodes.h"
#include "nla/core/io/streams.h"
#include "nla/core/io/terminal_size.h"
#include "nla/core/job/job_end.h"
#include "nla/core/job/rank_failures.h"
#include "nla/core/kvs/rank_services.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/core_context.h"
#include "nla/core/tree/verdicts.h"

namespace scela::nla {

// How a child is lost. It decides if the children that it leaves behind may be adopted.
enum class Loss : std::uint8_t {
  ended,     // its link or process ended
  given_up,  // this agent ended the link; what is below goes with the child
};

class LostChildren {
 public:
  // All references are borrowed, from the same agent (agent_state.h).
  LostChildren(Context& context, Children& children, const Verdicts& verdicts, JobEnd& job_end,
               RankFailures& failures, LostNodes& nodes, RankServices& services, Spawns& spawns,
               OutputFlow& output, InputFlow& input, TerminalSize& terminal)
      : context_(context),
        children_(children),
        verdicts_(verdicts),
        job_end_(job_end),
        failures_(failures),
        nodes_(nodes),
        services_(services),
        spawns_(spawns),
        output_(output),
        input_(input),
        terminal_(terminal) {}

  // Takes a child that could not be started: hands its slice to other agents, or back to the root.
  void on(const event::ChildFailed& event);
  // Notes that a child's start has begun. From now on the child counts as slow if it does not
  // answer.
  void on(const event::ChildBegun& event);
  // At the root: takes a node as lost that its resource manager has lost (node_down()).
  void on(const event::NodeDown& event) { node_down({event.node, event.why}); }
  // As on(event::NodeDown), of a node of the subtree. Returns false if the message breaks the
  // protocol.
  bool from_parent(const msg::NodeDown& message);
  // Notes that no process of the child is left. If the child has not ended before, treats it as
  // lost.
  void on(const event::ChildGone& event);
  // Treats a child as lost because its link is over. Reports its node and its ranks as lost, with
  // `reason` to print, unless a resource manager has told another one, and adopts the orphans if
  // that is possible. If the child was never ready, its slice is handed on instead. Children may
  // move in memory.
  void lost(Child& child, const std::string& reason, Loss loss = Loss::ended);
  // Call it when Timer::give_up has fired: the children that must end have had their time. Closes
  // the links of those that have not ended. When the timer fires again, this agent does not wait
  // for their processes either.
  void give_up();
  // Takes the answer of an adopted child, which says for which slice it answers. Returns false if
  // the message breaks the protocol. Children may move in memory.
  bool from_child(Child& child, const msg::Orphan& message);

 private:
  // Has the child lost that runs on this node, and passes the message on to the child that has the
  // node in its subtree. If this is the agent of the node, it ends.
  void node_down(const msg::NodeDown& message);
  // Returns true if the child waits as this agent does: its ranks have ended, and it was not told
  // to end itself, because ranks of others have not.
  bool may_go_on(const Child& child) const;
  // Returns true if this agent adopts the children of a child that is lost now.
  bool may_adopt_from(const Child& child) const;
  // Adopts these agents, which `lost` has left behind. Children may move in memory.
  void adopt(const Child& lost, std::vector<Child> orphans);
  // Takes a smaller slice of an adopted child than was assumed. Adopts the agents of the rest, or
  // reports their ranks as lost. Children may move in memory.
  void correct(Child& child, Slice slice);

  Context& context_;
  Children& children_;
  const Verdicts& verdicts_;
  JobEnd& job_end_;
  RankFailures& failures_;
  LostNodes& nodes_;
  RankServices& services_;
  Spawns& spawns_;
  OutputFlow& output_;
  InputFlow& input_;
  TerminalSize& terminal_;
  bool gave_up_ = false;  // give_up() has closed links once
};

}  // namespace scela::nla
