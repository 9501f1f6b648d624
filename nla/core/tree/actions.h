// The actions that an agent's core asks its shell to carry out. The core is the agent's state
// machine (agent.h). The shell is the code around it that makes system calls: nla/process/shell.h,
// or the simulator (tests/sim). The root is the agent inside scela-run.
//
// The shell carries the actions out in their order. No action has a synchronous answer: an answer
// comes as an event (events.h). Values; no thread shares them.
//
// A slice is a range of node numbers [first, end). A world is a set of ranks that a rank added to
// the running job (PMI spawn). An agent that loses its parent may be adopted: it keeps its ranks
// and gets a new parent. The trace is the timeline of --trace. Ranks and nodes are numbered from 0
// in the whole job.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "nla/core/tree/events.h"

namespace scela::nla {

namespace action {

// Send the message on the link. Messages of one link keep their order.
struct Send {
  LinkId link = kParentLink;
  Message message;
};
// Start the agent of host `node`, on a new link. The shell keeps what is sent on `link` until the
// agent runs. event::ChildBegun comes when its turn has come, and event::ChildFailed if it cannot
// be started.
struct StartChild {
  LinkId link = 0;
  std::uint32_t node = 0;
  std::uint32_t end = 0;  // one past its slice's last node
  // The contact of the host: the line that says how it is reached (nla/core/wire/contact.h).
  std::string host;
  // The agent runs already and waits for a new parent, which is this agent.
  bool attach = false;
};
// Give the link to a child up. The shell closes the stream at once. event::LinkEnded does not
// follow, event::ChildGone does.
struct CloseLink {
  LinkId link = 0;
};
// A resource manager has lost the child's node. If the link does not end by itself within a moment,
// end it by force, as if the host had been silent for too long. event::LinkEnded and
// event::ChildGone follow.
struct LoseChild {
  LinkId link = 0;
};
// A resource manager has lost this node, on which the agent still runs: kill this process. Its
// guardian cleans the node, and the agents below get another parent, as if the node had died.
struct KillAgent {};
// Start these ranks: all of this node, or the node's ranks of a world. The shell has the job from
// action::UseJob. For each rank, event::RankStarted or event::RankNotStarted follows, or one
// event::RanksRefused for all.
struct StartRanks {
  RankSet ranks;
};
// Take the description of the job. This action precedes all other actions about ranks. The root's
// core does not give it.
struct UseJob {
  Job job;
};
// Add a world to the job. This action precedes the start of the world's ranks.
struct AddWorld {
  World world;
};
// Kill (SIGKILL) those of these ranks of this node that run, and do not start those that wait for
// their start.
struct EndRanks {
  RankSet ranks;
};
// Send the signal to the process groups of all ranks of this node that still run. SIGCONT follows
// SIGTERM, SIGINT and SIGHUP.
struct SignalRanks {
  std::int32_t signo = 0;
};
// Ask (SIGTERM) or force (SIGKILL) every descendant of this node to end, except the agents of other
// nodes. The shell repeats SIGKILL until no descendant is left. event::NodeEmpty is the answer.
struct EndLeftovers {
  bool force = false;
};
// Start the timer; if it runs, it begins anew. event::TimerFired follows once, unless CancelTimer
// comes before.
struct SetTimer {
  Timer timer = Timer::grace;
  std::uint32_t delay_ms = 0;
};
// Stop the timer, if it runs.
struct CancelTimer {
  Timer timer = Timer::grace;
};
// Look at the ranks of this node that run (nla/core/wire/inspection.h). event::Inspected answers,
// once in all if no other action of this kind comes before the answer.
struct InspectRanks {
  Inspection what = Inspection::processes;
  std::uint32_t limit_ms = 0;      // the answer comes within this time, in milliseconds
  std::vector<std::string> words;  // of Inspection::tool
};
// Answer a request of a rank (event::Asked), or hand a message to the server of a rank.
struct Reply {
  Rank rank = 0;
  RequestId id =
      // If the id is kUnasked, this is a message for the server of the rank; parts[0] names the
      // sender.
      0;
  Response response;
};
// Read this many more bytes of output from this node's ranks, beside those that earlier actions
// allowed.
struct ReadOutput {
  std::uint64_t bytes = 0;
};
// Close the pipes of all ranks of this node that are still open.
struct DropStreams {};
// Write these bytes to the standard input of each local rank of Job::stdin_ranks. If `end` is true,
// no more input follows.
struct WriteStdin {
  Chunk bytes;
  bool end = false;
};
// Set the terminal size of the local rank of Job::terminal_ranks, which may not have started yet.
struct ResizeTerminal {
  WindowSize size;
};
// These ranks of the job failed, on any node, and the job goes on. The shell tells the ranks of
// this node that want to know.
struct RanksFailed {
  RankSet ranks;
};
// The agents of these nodes (node numbers) are gone. RanksFailed has named the ranks there that
// failed.
struct NodesLost {
  RankSet nodes;
};
// An agent between these ranks and the root was lost, and they have another one now. Messages
// between these ranks and all others with a tag from kServiceTags on may be lost if they were in
// flight. Messages that are sent from now on arrive.
struct Reconnected {
  RankSet ranks;
};
// The link to the parent has ended and may be replaced: let another agent of this job attach to
// this agent. Received(kParentLink) brings what the new parent says, and LinkEnded says that it is
// lost too. If `still` is false, this agent waits no more, and the shell lets go any agent that has
// attached.
struct AwaitAdoption {
  bool still = true;
};
// The job is over on this node. The shell gives the trace to the core (event::SendTrace) if the job
// asks for one. Then it measures this process and answers with event::Measured.
struct Finishing {
  // The end is near. The shell measures this process, then sends the trace if the job asks for one.
};
// End the process once all that was sent has left.
struct Finish {};

// Root only, like all actions from here on. A node has no agent, or has none any more: tell the
// user, and the part that plans where ranks run.
struct NodeFailed {
  msg::NodeFailed failure;
};
// Every node has its agent or failed. The shell answers with event::Launch or event::Stop.
struct AllReady {
  std::uint32_t agents = 0;
  TopologyList topologies = {};  // of the nodes that sent one (msg::Hello)
  TopologyList rendezvous = {};  // of the nodes that sent one (msg::Hello)
};
// All ranks that the job began with have been started, or have ended. `ranks` counts those that
// were started.
struct AllLaunched {
  std::uint32_t ranks = 0;
};
// A rank asks for a world. The shell plans on which nodes the ranks run, and answers with
// event::Planned.
struct Spawn {
  Rank rank = 0;
  RequestId id = 0;
  SpawnRequest request;
};
// All ranks of a world have been started. If one could not be started, none of them counts.
struct WorldLaunched {
  RankSet ranks;
  std::string why;  // not empty: a rank could not be started
};
// Every host of an event::AddHosts has its agent, which knows the job, or was reported with
// NodeFailed. This action also comes if the job is being ended.
struct HostsAdded {
  Slice nodes;
};
// Show output of a rank to the user. `end` says that this stream of the rank has ended. The shell
// reports with event::OutputWritten when it has passed the bytes on.
struct ShowOutput {
  Rank rank = 0;
  Stream stream = Stream::out;
  bool end = false;
  Chunk bytes;
};
// Show this log record to the user.
struct ShowLog {
  LogRecord record;
};
// The first failure of the job, which decides its exit status. It comes at most once.
struct FirstFailure {
  Rank rank = 0;
  Outcome outcome;
};
// Read this many more bytes from standard input, beside those that earlier actions allowed.
struct ReadStdin {
  std::uint64_t bytes = 0;
};
// A piece of the trace of a node's agent. For the root's own trace, `node` is kRootNode.
struct TracePiece {
  std::uint32_t node = 0;
  bool last = false;
  Chunk bytes;
};
// A piece of what a node answers to event::Inspect. If the agent of the node has ended, the root
// gives an empty last piece. A node that is lost does not answer.
struct Inspected {
  std::uint32_t node = 0;
  bool last = false;
  Chunk bytes;
};
// All verdicts are in, or no agent is left that could give the rest. A verdict is how a rank ended;
// the ranks of each outcome are one set.
struct JobEnded {
  std::vector<std::pair<Outcome, RankSet>> verdicts;
  Stats stats;
};

}  // namespace action

using ActionKinds =
    std::variant<action::Send, action::StartChild, action::CloseLink, action::StartRanks,
                 action::UseJob, action::SignalRanks, action::EndLeftovers, action::SetTimer,
                 action::CancelTimer, action::Reply, action::ReadOutput, action::DropStreams,
                 action::WriteStdin, action::Finishing, action::Finish, action::NodeFailed,
                 action::AllReady, action::AllLaunched, action::ShowOutput, action::ShowLog,
                 action::FirstFailure, action::ReadStdin, action::TracePiece, action::JobEnded,
                 action::AwaitAdoption, action::ResizeTerminal, action::RanksFailed,
                 action::AddWorld, action::EndRanks, action::Spawn, action::WorldLaunched,
                 action::HostsAdded, action::NodesLost, action::Reconnected, action::InspectRanks,
                 action::Inspected, action::LoseChild, action::KillAgent>;

// One action; std::visit() tells its kind. Copying, moving and destroying it is compiled in
// actions.cpp alone: with this many kinds it would be most of the compilation of every file that
// passes an action on.
class Action : public ActionKinds {
 public:
  Action();
  Action(const Action& other);
  Action(Action&& other) noexcept;
  Action& operator=(const Action& other);
  Action& operator=(Action&& other) noexcept;
  ~Action();
  template <class Kind>
  requires(!std::derived_from<std::remove_cvref_t<Kind>, ActionKinds> &&
           std::constructible_from<ActionKinds, Kind>) Action(Kind&& one)
      : ActionKinds(std::forward<Kind>(one)) {}
};

// The answer to one event, in the order in which the shell carries it out.
using Actions = std::vector<Action>;

}  // namespace scela::nla
