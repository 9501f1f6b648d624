// The children of an agent: the agents that this agent starts on other nodes, each with a link (a
// connection) to it. An agent is the process of a job on one node. Each child has a slice, a range
// of node numbers [first, end): the child runs on the first node and starts agents on the others.
// This part starts the children, and hands a failed child's slice to that slice's next host. It
// knows which children are ready, done, lost or gone. The agent's core uses it, and one thread at a
// time calls it. No function blocks: what must be done is appended to Context::out as actions.
//
// Decision D4: a child that cannot be started is reported at once and costs one node. Its slice
// goes to the first reachable host of that slice, so no agent's fan-in grows. The fan-in does grow
// if a child is slow. If all others have been ready for a second (kSlowMs), this agent starts the
// nodes that the slow child should start.
//
// Messages (msg::...) are those of nla/core/wire/agent_messages.h. Hello is a child's first message
// and Done its last one. An orphan is an agent that lost its parent but keeps its ranks. A rank has
// a verdict once it is known how that rank ended. A world is a set of ranks that a rank added to
// the running job (PMI spawn).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nla/core/tree/core_context.h"

namespace scela::nla {

// The life of a child, in its usual order. A child ends as done, failed or lost.
enum class ChildState : std::uint8_t {
  starting,  // StartChild was given, no Hello yet
  up,        // sent Hello, its subtree is incomplete
  ready,     // its subtree is complete
  done,      // sent Done: its subtree is empty
  failed,    // never ready; others got its slice
  lost,      // was ready and ended without Done
  // An orphan that this agent was told to adopt. It has not answered yet (msg::Orphan).
  adopting,
};

constexpr std::string_view name_of(ChildState state) {
  switch (state) {
    case ChildState::starting:
      return "starting";
    case ChildState::up:
      return "up";
    case ChildState::ready:
      return "ready";
    case ChildState::done:
      return "done";
    case ChildState::failed:
      return "failed";
    case ChildState::lost:
      return "lost";
    case ChildState::adopting:
      return "adopting";
  }
  return "unknown";
}

// One child, as its parent sees it.
struct Child {
  LinkId link = 0;  // from 1 on, in the order of starts
  Slice slice;      // its nodes; it runs on slice.first
  // Nodes (not ranks) of the slice that the child may not start, and which the root starts instead.
  RankSet handed_back;
  ChildState state = ChildState::starting;
  // The spawner has begun the child's session. Before that the child waits, because --fanout limits
  // concurrent sessions.
  bool begun = false;
  std::uint32_t agents = 0;  // agents that are ready in its subtree
  RankSet ranks;             // the job's ranks in its subtree
  bool some_ended = false;   // some of `ranks` ended or are cut off
  bool ended_ranks = false;  // all of `ranks` have their verdicts
  bool revived = false;      // all had, then ranks of a world came
  // The child has reported that the job's first ranks in its subtree are started (msg::Launched),
  // or it never has any.
  bool launched = false;
  bool gone = false;  // nothing of its process is left
  std::string down;   // why a resource manager has lost its node, to print; empty: it has not
  // Counters in bytes. They limit what a child that is not trusted may make this agent hold or pass
  // on.
  std::uint64_t report_bytes = 0;     // trace bytes of its subtree so far
  std::uint64_t contributed = 0;      // bytes in operations that are not over
  std::uint64_t begun_bytes = 0;      // bytes of the operations it has begun
  std::uint64_t inspected_bytes = 0;  // bytes of its answers to the last msg::Inspect
  std::uint64_t log_bytes = 0;        // bytes of log records that it sent
  std::uint64_t why_bytes = 0;        // bytes of Outcome::why that it sent
  // Output bytes that it may send before it gets more credit.
  std::uint32_t window = 0;
  bool knows_hosts = false;  // it was told its slice's hosts
  // The child was not ready when the ranks were started. It is true until the child has been sent
  // the job.
  bool late = false;
  // The child was sent Shutdown because its own ranks have ended, while those of others may run.
  bool told_to_end = false;
  // It was once an orphan, so it is not in the original tree of collective operations.
  bool adopted = false;
  // Only if `adopting`: the child may have fewer nodes than `slice` says, but none behind
  // slice.end.
  bool slice_guessed = false;
  // The slices of its own children, as the child reported them (msg::Below). If `adopting`, they
  // are computed instead. If this child is lost, the agents of these slices are adopted.
  std::vector<Slice> below;

  // Returns true if the child answers for this node number.
  bool covers(std::uint32_t node) const {
    return slice.contains(node) && !handed_back.contains(node);
  }
  // Returns true if the child is starting or alive: it may be sent messages, and will still send
  // some.
  bool serving() const {
    return state == ChildState::starting || state == ChildState::up || state == ChildState::ready ||
           state == ChildState::adopting;
  }
};

// All children of one agent, those that have failed or ended included. None is ever removed.
class Children {
 public:
  // `context` is borrowed.
  explicit Children(Context& context) : context_(context) {}

  // Splits `below` into at most Context::degree parts and starts one child for each part. Does
  // nothing if `below` is empty.
  void start(Slice below);
  // Call it if the job is being ended. From now on no child is started for the slice of a child
  // that fails.
  void stop_starting() { stopping_ = true; }
  // Closes the links of all children that have not sent Hello: a host that does not answer must not
  // delay the end of the job. They become ChildState::failed without a report, because these agents
  // have not failed.
  void cancel_starts();

  // Returns the child of this link, or nullptr if no child has ever had it. The pointer is valid
  // until a child is added.
  Child* find(LinkId link);
  // Returns all children in the order of their links. Pointers into it are valid until a child is
  // added.
  std::vector<Child>& all() { return children_; }
  const std::vector<Child>& all() const { return children_; }
  // Returns the serving child that has this rank in its subtree, or nullptr. The pointer is valid
  // until a child is added.
  Child* child_with_rank(Rank rank);

  // Takes a child as failed that was never ready. Reports its node's failure upwards, with `why` to
  // print. Starts new children for the other nodes of its slice, unless the job is being ended.
  // `child` may dangle after the call.
  void failed(Child& child, StartPhase phase, const std::string& why);

  // Takes a child as failed that only the root may start. Asks the root (msg::HandBack) to start
  // the child's whole slice, and reports no failure. Not to be called at the root.
  void hand_back(Child& child);
  // Takes a child's request that the root starts some nodes of its slice. Passes that on; the root
  // starts a child for each node. Returns false if the child does not answer for those nodes, or is
  // not `up`. `child` may dangle after the call.
  bool receive(Child& child, const msg::HandBack& message);

  // Takes a child's Hello: the child is now `up`. Sends it the hosts of its slice, unless it has
  // them already.
  void hello_received(Child& child);
  // Returns true if start_nodes_of_slow() should be called after a while. All other children are
  // then ready. Those without a Hello are at most as many as the ready ones, and have begun.
  bool only_slow_left() const;
  // Starts from here the nodes that children without a Hello should start. These children keep
  // their own nodes. To be called once: if every login takes long, the tree would become flat.
  void start_nodes_of_slow();

  // Returns true if no child is starting or up; also if there are no children.
  bool all_ready() const;
  // Returns true if no child is serving; also if there are no children.
  bool all_ended() const;
  // Returns true if nothing is left of any child's process; also if there are no children.
  bool all_gone() const;
  // Returns the number of agents in the subtrees of ready children.
  std::uint32_t ready_agents() const;
  // Returns the nodes that this agent failed to start, with phase and reason, in the order of the
  // failures.
  const std::vector<msg::NodeFailed>& failures() const { return failures_; }

  // Sends the message to every serving child. A child that is `late` is left out, unless the
  // message is Terminate or Shutdown.
  void broadcast(const Message& message);
  // Returns true if no child that was started for one of these nodes is still starting or up.
  bool none_starting(const Slice& nodes) const;

  // Returns the agents below a lost child that this agent may adopt, as far as it knows them. They
  // are not children yet: the caller passes each to adopt().
  std::vector<Child> orphans_of(const Child& lost) const;
  // Makes an orphan a child of this agent: gives it a link, and queues action::StartChild and the
  // messages Adopt. `seen` says how much output of each of its ranks came here before. Returns the
  // new child. Children may move in memory.
  Child& adopt(Child orphan, const std::vector<msg::Seen>& seen);
  // Takes the answer of an adopted child that has fewer nodes in its subtree than this agent
  // assumed. `slice` has its real nodes, and becomes the child's slice. Returns the orphans that
  // have the other nodes. The caller passes each of them to adopt().
  std::vector<Child> corrected(Child& child, Slice slice) const;
  // Keeps the slices of a child's children in Child::below. Returns false if they are not ascending
  // parts of the child's slice.
  bool receive(Child& child, const msg::Below& message);
  // Sends the parent the slices of all serving children and of `orphans` (msg::Below). The
  // grandparent adopts these agents if this agent is lost. Does nothing at the root, or if lost
  // agents are never replaced.
  void send_below(const std::vector<Child>& orphans = {});

  // Sets Child::ranks of each child, and marks those as late that are not ready. To be called once,
  // when the job is known; `map` is the job's.
  void know_job(const RankMap& map);
  // `ranks` are new ranks of the job (of a world), already in its map. Adds those of the child's
  // subtree to Child::ranks and returns them.
  RankSet add_ranks(Child& child, const RankSet& ranks) const;

 private:
  // Starts the child of this slice, on the slice's first host. Children may move in memory.
  void start_one(Slice slice);
  // Sends the child the hosts of its slice. Nodes cannot be taken from it after that.
  void send_hosts(Child& child);
  // Appends the agents that lead to the nodes of `slice`, which was a child's of the lost one. If
  // `guessed` is true, some child of the lost one has the first node that lives, and other children
  // may have the rest.
  void add_orphans(const Child& lost, Slice slice, bool guessed, std::vector<Child>& orphans) const;
  // Makes `slice` the child's slice, and sets its ranks and handed-back nodes to match.
  void cover(Child& child, Slice slice) const;

  Context& context_;
  std::vector<Child> children_;  // the index is the link - 1
  std::vector<msg::NodeFailed> failures_;
  bool stopping_ = false;
  bool took_ = false;  // start_nodes_of_slow() was called
};

// Reports a node's failure to the parent, or at the root to the user (action::NodeFailed). Only the
// first report of a node has an effect.
void report_node_failure(Context& context, msg::NodeFailed failure);

// Returns the window of one of `children` children: the bytes of output that it may have sent and
// for which it has no new credit yet. It is from 4 to 60 KiB, at the root to 240 KiB, which are
// whole pieces (kOutputPiece). The sum over all children is at most 1 MiB, at the root 4 MiB,
// unless each has the smallest window (decision D8).
std::uint32_t output_window(std::size_t children, bool at_root);

}  // namespace scela::nla
