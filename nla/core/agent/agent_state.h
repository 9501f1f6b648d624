// The inside of an Agent: its parts and the handlers of events and messages. Private to agent*.cpp.
// One thread at a time uses it, as Agent says.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "nla/core/io/streams.h"
#include "nla/core/kvs/attributes.h"
#include "nla/core/kvs/bulletin.h"
#include "nla/core/kvs/collectives.h"
#include "nla/core/kvs/mailbox.h"
#include "nla/core/kvs/names.h"
#include "nla/core/kvs/spawns.h"
#include "nla/core/tree/agent.h"
#include "nla/core/tree/children.h"
#include "nla/core/tree/lifecycle.h"
#include "nla/core/tree/verdicts.h"
#include "nla/core/wire/topologies.h"

namespace scela::nla {

// Bytes of output that the presenter at the root may hold at once, while a terminal or a disk is
// behind.
inline constexpr std::uint64_t kPresenterWindow = std::uint64_t{1024} * 1024;
// event::RankNotStarted carries this value of ECANCELED.
inline constexpr std::int32_t kCancelled = 125;

struct Agent::State {
  State(Role role, cache::PolicyMaker maker);

  // Handlers of events (agent.cpp). nla/core/tree/events.h says what each event means.
  void on(const event::Begin& event);
  void on(const event::Launch& event);
  void on(const event::Received& event);
  void on(const event::LinkEnded& event);
  void on(const event::ChildFailed& event);
  void on(const event::ChildBegun& event);
  void on(const event::ChildGone& event);
  void on(const event::RankStarted& event);
  void on(const event::RankNotStarted& event);
  void on(const event::RanksRefused& event);
  void on(const event::RankExited& event);
  void on(const event::RankOutput& event);
  void on(const event::RankStreamEnded& event);
  void on(const event::NodeEmpty& event);
  void on(const event::TimerFired& event);
  void on(const event::Asked& event);
  void on(const event::GuardianLost& event);
  void on(const event::StdinTaken& event);
  void on(const event::StdinClosed& event);
  void on(const event::PairUsed& event);
  void on(const event::SendTrace& event);
  void on(const event::Say& event);
  // Shows a log record to the user. The root shows it, and another agent passes it to its parent.
  void tell(msg::Log said);
  void on(const event::Measured& event);
  void on(const event::UserSignal& event);
  void on(const event::Stop& event);
  void on(const event::StdinRead& event);
  void on(const event::OutputWritten& event);
  void on(const event::WindowChanged& event);
  void on(const event::Planned& event);
  void on(const event::AddHosts& event);

  // Handlers of messages: first those from the parent, then those from a child
  // (agent_messages.cpp). They return false if the message breaks the protocol; violation() follows
  // then. nla/core/wire/messages.h says what each message means.
  bool from_parent(const Message& message);
  bool from_child(Child& child, const Message& message);
  bool down(const msg::Start& message);
  bool down(const msg::SliceHosts& message);
  bool down(const msg::JobBytes& message);
  bool down(const msg::CollectiveDown& message);
  bool down(const msg::WorldBytes& message);
  bool down(const msg::EndRanks& message);
  bool up(Child& child, const msg::Hello& message);
  bool up(Child& child, const msg::Ready& message);
  bool up(Child& child, const msg::Verdicts& message);
  bool up(Child& child, const msg::Report& message);
  bool up(Child& child, const msg::Done& message);
  bool up(Child& child, const msg::ProcessFail& message);
  bool up(Child& child, const msg::CutOff& message);
  bool up(Child& child, const msg::NodesLost& message);
  bool up(Child& child, const msg::Log& message);

  // The life of an agent (agent_life.cpp).
  // The job is known: sets up all parts and starts the ranks of this node.
  void use_job(Job job);
  // Ends the ranks of the subtree: sends them the signal, and SIGKILL after the grace. If the grace
  // is 0, sends SIGKILL at once.
  void terminate(std::int32_t signo, std::uint32_t grace_ms);
  // Every rank has its verdict, or none is waited for. advance_end() ends what is left.
  void shut_down();
  // The parent is gone for good. This agent ends the subtree.
  void parent_lost(const std::string& why);
  // A child's link is over before the child said Done. The children of a lost child may have lost
  // only their parent. This agent adopts them, unless it gave the child up.
  void child_ended(Child& child, const std::string& why, bool given_up = false);
  // Reports the nodes that are lost with a child, which are not below `orphans`. Returns all of
  // them.
  RankSet out_of_reach(const Child& lost, const std::vector<Child>& orphans);
  // These nodes of the subtree are lost. tell_lost() tells the root; nodes_lost() tells the agents
  // below, on behalf of the root.
  void tell_lost(const RankSet& nodes);
  void nodes_lost(const RankSet& nodes);
  // Ranks of this node ended, one or all with the same outcome. Only rank_over() skips ranks of
  // other nodes and ranks with a verdict, and prefers the outcome of an abort.
  void rank_over(Rank rank, Outcome outcome);
  void ranks_over(const RankSet& ranks, const Outcome& outcome);
  // Reports the failure of a rank of the subtree upwards. The root decides what follows.
  void process_fail(Rank rank, const Outcome& said);
  // Calls process_fail() for these ranks. If the job ends because of them, one report is enough.
  void processes_lost(const RankSet& ranks, const Outcome& outcome);
  // No agent will report verdicts of these ranks any more.
  void lose(const RankSet& ranks, const std::string& why);
  // At the root: a rank failed. Ends the job, or tells every agent that the job goes on without
  // that rank.
  void first_failure(Rank rank, const Outcome& outcome);
  // The peer of this link has broken the protocol. A child is given up; if it is the parent, the
  // subtree ends.
  void violation(LinkId link, const std::string& why);
  // The user's terminal has this size. Returns false if no rank below has a terminal.
  bool resize(const WindowSize& size);
  // Sends the child the present size, if one is known and a rank below the child has a terminal.
  void tell_window(const Child& child);
  // These three functions carry out the timers of these names; limit_reached() is that of
  // Timer::limit.
  void give_up();
  void drain();
  void limit_reached();
  void send_verdicts();
  // Returns those of `ranks` that the job began with.
  RankSet first_ranks(const RankSet& ranks) const;
  // advance() follows each event and moves on to the next phases (nla/core/tree/lifecycle.h). The
  // other two functions are parts of it.
  void advance();
  void advance_start();
  void advance_end();
  // Returns how long children may take to end before give_up().
  std::uint32_t give_up_ms() const;

  // Ranks that are added while the job runs (agent_spawn.cpp).
  // Sends the child the job as it began.
  void tell_job(const Child& child);
  // Tells a child that was started late all that the others have heard. Does nothing if the job is
  // being ended.
  void bring_up_to_date(Child& child);
  // Reports each added slice (event::AddHosts) that has all its agents.
  void advance_growth();
  // Adds a world to the job, tells the children, and starts its ranks of this node. `asker` is only
  // given at the root. Returns false if the world is malformed.
  bool add_world(const World& world, std::pair<Rank, RequestId> asker);
  // Puts the first pairs of a world into the cache, with `prefix` before each key.
  void keep_preput(const World& world, const std::string& prefix);
  // Starts ranks of this node that a world brings, or ends them at once if they are not wanted.
  void start_more(const RankSet& own);
  // Returns the outcome of a rank of this node as it counts. A rank of a world that was not started
  // is no failure of the job.
  Outcome softened(Rank rank, Outcome outcome);
  // Answers ask::Failed.
  void tell_failed(Rank rank, RequestId id);

  // Adoption (agent_adopt.cpp): first the orphan's side, then the adopter's.
  // Returns true if another agent may replace a parent that is lost now.
  bool may_be_adopted() const;
  // The parent is lost. The agent waits for an adopter, and fails what was in flight above.
  void orphaned();
  bool down(const msg::Adopt& message);
  // Repeats to the new parent what the lost one may not have passed on.
  void told_again();
  // Says that the first ranks of the subtree were started: to the parent, or at the root to the
  // user.
  void tell_launched();
  // Returns true if this agent adopts the children of a child that is lost now.
  bool may_adopt_from(const Child& child) const;
  // Adopts these agents, which `lost` has left behind. Children may move in memory.
  void adopt(const Child& lost, std::vector<Child> orphans);
  bool up(Child& child, const msg::Orphan& message);
  // An adopted child has a smaller slice than was assumed. Adopts the agents of the rest, or loses
  // their ranks. Children may move in memory.
  void correct(Child& child, Slice slice);
  // Returns true if the child may say that these ranks are cut off.
  bool may_be_island(const Child& child, const RankSet& ranks) const;
  // Tells all parts and the agents below that `ranks` are cut off from all others. If `now` is
  // true, requests in flight to the root fail too (msg::CutOff).
  void cut_off(const RankSet& ranks, bool now = false);
  static Outcome guardian_outcome() {
    return {Ending::lost, 0, false, false, "the guardian of its agent was killed"};
  }
  bool no_rank_left() const { return verdicts.open(context.own_ranks).empty(); }

  Context context;
  Children children;
  Topologies topologies;  // told by the nodes below
  Collectives collectives;
  Bulletin bulletin;
  Mailbox mailbox;
  Attributes attributes;
  Names name_table;
  Spawns spawns;
  OutputFlow output;
  InputFlow input;
  Verdicts verdicts;
  cache::PolicyMaker make_policy;
  std::unique_ptr<cache::Policy> policy;

  Phase phase = Phase::waiting;
  std::string names;  // the slice's host names received so far
  // Bytes of the job that were received so far; later those of a world.
  std::string job_bytes;
  RankSet started;
  // The ranks with a pipe that has not ended, by Stream.
  RankSet streams_open[2];
  // The outcomes of ranks that asked for the end of the job. They count instead of how the rank
  // exits.
  std::map<Rank, Outcome> aborted;
  // The outcomes that PROCESS_FAIL from below said, until Verdicts say the same.
  std::map<Rank, Outcome> reported;
  std::vector<Slice> growing;  // added slices that still lack agents
  Stats below;                 // totals of the children that are done
  // Numbers of nodes below, not of ranks, from which the whole trace has come.
  RankSet traced_nodes;
  std::uint32_t below_launched = 0;
  // The next four say what went up to the parent: Launched, the first Verdicts, the Verdicts of all
  // ranks, and PROCESS_FAIL. At the root they say what it has acted on.
  bool launched_sent = false;
  bool verdicts_begun = false;
  bool verdicts_sent = false;
  bool failure_sent = false;
  // The ranks of the subtree were told to end (terminate()).
  bool terminating = false;
  bool guardian_lost = false;
  bool timed_out = false;  // Timer::limit told the ranks to end
  // The subtree ends once its ranks have ended (shut_down()).
  bool shutdown = false;
  // Timer::slow runs.
  bool slow_armed = false;
  // The end of the node: EndLeftovers was given, NodeEmpty came, and advance_end() has acted on it.
  bool leftovers_asked = false;
  bool node_empty = false;
  bool node_empty_seen = false;
  std::uint64_t drained = 0;  // output bytes read when drain was set
  // give_up() has closed links once.
  bool gave_up = false;
  RankSet lost_below;                // nodes that were reported as lost
  std::optional<WindowSize> window;  // terminal size, once it has changed
  std::vector<msg::Seen> seen;       // from an adopter, until its last Adopt
};

}  // namespace scela::nla
