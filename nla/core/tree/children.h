// The children of an agent. This part starts them, hands a failed child's slice to that slice's
// next host, and knows when everything below is ready. It also knows which children are done, lost
// or gone. The agent's core uses it, and one thread at a time calls it.
//
// Decision D4: a child that cannot be started is reported at once and costs one node. Its slice
// goes to the first reachable host of that slice, so no agent's fan-in grows. The fan-in does grow
// if a child is slow: if all others have been ready for kSlowMs, this agent starts the nodes that
// the slow child should start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nla/core/tree/context.h"

namespace scela::nla {

enum class ChildState : std::uint8_t {
  starting,  // StartChild was given, no Hello yet
  up,        // said Hello, its subtree is incomplete
  ready,     // its subtree is complete
  done,      // said Done: its subtree is empty
  failed,    // never ready, its slice was handed on
  lost,      // was ready and ended without Done
  // It lost its parent while the ranks ran, and is asked to be a child of this agent.
  adopting,
};

struct Child {
  LinkId link = 0;
  Slice slice;          // its nodes; it runs on slice.first
  RankSet handed_back;  // of these, those handed to the root
  ChildState state = ChildState::starting;
  // If starting: its session has begun and does not wait for its turn any more.
  bool begun = false;
  std::uint32_t agents = 0;  // agents that are ready in its subtree
  RankSet ranks;             // the job's ranks in its subtree
  bool some_ended = false;   // some of `ranks` ended or are cut off
  bool ended_ranks = false;  // all of `ranks` have their verdicts
  bool revived = false;      // all had, then ranks of a world came
  bool launched = false;
  bool gone = false;               // nothing of its process is left
  std::uint64_t report_bytes = 0;  // trace bytes of its subtree so far
  std::uint64_t contributed = 0;   // bytes in operations that are not over
  std::uint64_t begun_bytes = 0;   // bytes of the operations it has begun
  std::uint64_t log_bytes = 0;     // bytes of log records that it sent
  std::uint64_t why_bytes = 0;     // bytes of Outcome::why that it sent
  std::uint32_t window = 0;        // output bytes it may send uncredited
  bool knows_hosts = false;        // it was told its slice's hosts
  // It was started while the ranks ran, and knows nothing of the job yet.
  bool late = false;
  bool adopted = false;  // not in the operations' original tree
  // If adopting: the end of its slice is an upper bound.
  bool slice_guessed = false;
  // The slices of its children, as the child said. If adopting, these are the slices as they should
  // be.
  std::vector<Slice> below;

  bool covers(std::uint32_t node) const {
    return slice.contains(node) && !handed_back.contains(node);
  }
  bool serving() const {
    return state == ChildState::starting || state == ChildState::up || state == ChildState::ready ||
           state == ChildState::adopting;
  }
};

class Children {
 public:
  explicit Children(Context& context) : context_(context) {}

  // Splits `below` and starts one child for each part.
  void start(Slice below);
  // Stops handing slices on: the job is being ended.
  void stop_starting() { stopping_ = true; }
  // Stops waiting for agents that have not said Hello: a host that does not answer must not keep a
  // job that is being ended. Reports no failure, because these agents have not failed.
  void cancel_starts();

  // Returns nullptr if no child has had this link. The pointer is valid until a child is added.
  Child* find(LinkId link);
  std::vector<Child>& all() { return children_; }
  const std::vector<Child>& all() const { return children_; }
  Child* holding(Rank rank);  // the serving child with this rank

  // Reports the node's failure upwards and hands its slice on, unless the job is being ended.
  // `child` may dangle after the call.
  void failed(Child& child, StartPhase phase, const std::string& why);

  // This agent may not start the child. It asks the root to start the slice, and reports no
  // failure.
  void hand_back(Child& child);
  // A child hands nodes back in the same way. Returns false if the child does not answer for those
  // nodes.
  bool receive(Child& child, const msg::HandBack& message);

  // The child said Hello. It is told the hosts of its slice, unless it knows them.
  void said_hello(Child& child);
  // Returns true if all others are ready, and some that have not said Hello are to start further
  // nodes.
  bool only_slow_left() const;
  // Starts those further nodes from here; the slow children keep their own nodes. Does so once: if
  // every login takes long, the tree would become flat.
  void take_from_slow();

  bool all_ready() const;  // true if no child is starting or up
  bool all_ended() const;  // true if no child is serving
  bool all_gone() const;   // true if Child::gone is set for all
  // Returns the number of agents in the subtrees that are ready.
  std::uint32_t ready_agents() const;
  // The nodes that this agent failed to start, with phase and reason.
  const std::vector<msg::NodeFailed>& failures() const { return failures_; }

  // Sends to every serving child. A child that is late only hears of the job's end.
  void broadcast(const Message& message);
  // Returns true if each of these nodes has its agent or was reported.
  bool settled(const Slice& nodes) const;

  // Returns the children that a lost child has left behind. They have no link yet.
  std::vector<Child> orphans_of(const Child& lost) const;
  // Makes an orphan a child of this agent and queues the first messages for it. Children may move
  // in memory.
  Child& adopt(Child orphan, const std::vector<msg::Seen>& seen);
  // An adopted child has said that its subtree has only the nodes of `slice`, the first of those
  // that the message Adopt gave it. The call makes `slice` the child's. It returns the orphans that
  // have the other nodes, which the caller adopts.
  std::vector<Child> corrected(Child& child, Slice slice) const;
  // Returns false if these are no slices of that child's.
  bool receive(Child& child, const msg::Below& message);
  // Tells the parent which agents are to be adopted if this agent is lost.
  void tell_below(const std::vector<Child>& orphans = {});

  // The job is known. Sets the ranks of each child.
  void know_job(const RankMap& map);
  // `ranks` are new to the job. Adds those of the child's subtree to the child and returns them.
  RankSet add_ranks(Child& child, const RankSet& ranks) const;

 private:
  // Starts the child of this slice, on the slice's first host. Children may move in memory.
  void start_one(Slice slice);
  // Sends the child the hosts of its slice. Nodes cannot be taken from it after that.
  void tell_hosts(Child& child);
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
  bool took_ = false;  // take_from_slow() was called
};

// Reports a node's failure, once for each node: to the parent, or at the root to the user.
void report_node_failure(Context& context, msg::NodeFailed failure);

// Returns the bytes of output that one of `children` children may have in flight before the parent
// has passed them on. The sum over all children has a fixed budget, unless there are so many that
// each has the smallest window (decision D8).
std::uint32_t output_window(std::size_t children);

}  // namespace scela::nla
