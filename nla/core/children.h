// The children of an agent: starting them, handing a failed child's slice to the slice's next host,
// knowing when everything below is ready, and who is done, lost or gone.
//
// Decision D4: a child that cannot be started is reported at once and costs one node; its slice
// goes to the first reachable host of that slice, so nobody's fan-in grows. It does where a child
// is slow: when all others have been ready for kSlowMs, the nodes that it should start are started
// here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nla/core/context.h"

namespace scela::nla {

enum class ChildState : std::uint8_t {
  starting,  // StartChild was given; Hello has not come
  up,        // said Hello; its own subtree is not complete
  ready,     // its subtree is complete
  done,      // said Done: nothing of the job is left there
  failed,    // never became ready; its slice was handed on
  lost,      // was ready and is gone without Done
  adopting,  // lost its parent while the ranks ran, and is asked to be a child of this agent
};

struct Child {
  LinkId link = 0;
  Slice slice;          // the nodes it answers for; it runs on slice.first
  RankSet handed_back;  // of those, the ones that the root was asked to start instead
  ChildState state = ChildState::starting;
  bool begun = false;        // starting: its session is on its way, not waiting for its turn
  std::uint32_t agents = 0;  // ready in its subtree
  RankSet ranks;             // of the job, in its subtree
  bool some_ended = false;   // some of them have their verdicts
  bool ended_ranks = false;  // all of them
  bool revived = false;      // all had once, then it got ranks of a world
  bool launched = false;
  bool gone = false;               // nothing of its process is left
  std::uint64_t report_bytes = 0;  // of its subtree's trace, so far
  std::uint64_t contributed = 0;   // bytes that it brought into operations that are not over
  std::uint64_t begun_bytes = 0;   // taken by the sets of operations that it has begun
  std::uint64_t log_bytes = 0;     // of log records that came from there
  std::uint32_t window = 0;        // bytes of output it may send before it gets credit
  bool knows_hosts = false;        // of its slice, as it is now
  bool late = false;               // started while the ranks ran, and knows nothing of the job yet
  bool adopted = false;            // took no part in the tree that the operations know
  bool slice_guessed = false;      // adopting: where it ends is not known, but not later
  std::vector<Slice> below;        // of its children, as it said (adopting: as they should be)

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

  // Splits `below` and starts one child per part.
  void start(Slice below);
  // No more hand-overs: the job is being ended.
  void stop_starting() { stopping_ = true; }
  // Nobody waits any more for agents that have not said Hello: a host that does not answer must not
  // keep a job that is being ended. Nothing is reported: they have not failed.
  void cancel_starts();

  Child* find(LinkId link);
  std::vector<Child>& all() { return children_; }
  const std::vector<Child>& all() const { return children_; }
  Child* holding(Rank rank);  // the serving child whose subtree has the rank

  // Each reports the node's failure upwards and hands the slice on (unless stopping).
  void failed(Child& child, StartPhase phase, const std::string& why);

  // This agent may not start it: the root is asked to, and nothing of it is reported as failed.
  void hand_back(Child& child);
  // A child asks the same. False: those are not nodes that it answers for.
  bool receive(Child& child, const msg::HandBack& message);

  // It learns its slice's hosts, if it has to start any.
  void said_hello(Child& child);
  // All others are ready, and some that have not said Hello are to start further nodes.
  bool only_slow_left() const;
  // Starts those further nodes from here: the slow ones keep their own node. Once: where every
  // login takes long, the tree would become flat.
  void take_from_slow();

  bool all_ready() const;  // no child is starting or up
  bool all_ended() const;  // none is serving
  bool all_gone() const;
  std::uint32_t ready_agents() const;
  // Nodes that this agent failed to start and that nobody else looks after.
  const std::vector<msg::NodeFailed>& failures() const { return failures_; }

  // To every serving child. One that is late hears of the job's end only.
  void broadcast(const Message& message);
  // All of these nodes have their agent or were reported.
  bool settled(const Slice& nodes) const;

  // Children that a lost child has left behind, not linked yet.
  std::vector<Child> orphans_of(const Child& lost) const;
  // Makes one a child of this agent, up to the first word that it is sent. Children may move.
  Child& adopt(Child orphan, const std::vector<msg::Seen>& seen);
  // An adopted child answers for less than it was asked to adopt it for: who else is an orphan
  // then.
  std::vector<Child> corrected(Child& child, Slice slice) const;
  // False: these are no slices of that child's.
  bool receive(Child& child, const msg::Below& message);
  // To the parent: who is to be adopted if this agent is lost.
  void tell_below(const std::vector<Child>& orphans = {});

  // Fills in Child::ranks from the job's map.
  void know_job(const RankMap& map);
  // Of `ranks`, which are new to the job, adds those of the child's subtree; returns them.
  RankSet add_ranks(Child& child, const RankSet& ranks) const;

 private:
  void start_one(Slice slice);
  void tell_hosts(Child& child);
  // `guessed`: some child of the lost one has the first node that lives, others may have the rest.
  void add_orphans(const Child& lost, Slice slice, bool guessed, std::vector<Child>& orphans) const;
  void cover(Child& child, Slice slice) const;

  Context& context_;
  std::vector<Child> children_;  // position = link - 1
  std::vector<msg::NodeFailed> failures_;
  bool stopping_ = false;
  bool took_ = false;
};

// What a node's failure report becomes: to the parent, or at the root to the person, once per node.
void report_node_failure(Context& context, msg::NodeFailed failure);

// Output a child may have on its way before the parent has passed it on; the sum over children
// stays under a fixed budget whatever the degree (decision D8).
std::uint32_t output_window(std::size_t children);

}  // namespace scela::nla
