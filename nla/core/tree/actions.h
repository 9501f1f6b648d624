// The actions that an agent's core asks its shell to carry out. The shell is nla/process/shell.h or
// the simulator (tests/sim).
//
// The shell carries the actions out in their order. No action has a synchronous answer: an answer
// comes as an event (events.h). Values; no thread shares them.
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
// Start the agent of host `node`. The shell keeps what is sent on `link` until the agent runs.
struct StartChild {
  LinkId link = 0;
  std::uint32_t node = 0;
  std::uint32_t end = 0;  // one past its slice's last node
  std::string host;
  // The agent runs already and waits for a new parent, which is this agent.
  bool attach = false;
};
// Give the link up. The shell closes the stream at once. LinkEnded does not follow, ChildGone does.
struct CloseLink {
  LinkId link = 0;
};
// Start these ranks: all of this node, or the node's ranks of a world. The shell has the job from
// action::UseJob.
struct StartRanks {
  RankSet ranks;
};
struct UseJob {  // precedes all other actions about ranks
  Job job;
};
// Add a world to the job. This action precedes the start of the world's ranks.
struct AddWorld {
  World world;
};
// Kill the ranks that run, and do not start the ranks that wait.
struct EndRanks {
  RankSet ranks;
};
// Send the signal to the process groups of the ranks that still run. SIGCONT follows SIGTERM,
// SIGINT and SIGHUP.
struct SignalRanks {
  std::int32_t signo = 0;
};
// Ask (SIGTERM) or force (SIGKILL) every descendant of this node to end, except the agents of other
// nodes. The shell repeats SIGKILL until no descendant is left. event::NodeEmpty is the answer.
struct EndLeftovers {
  bool force = false;
};
// Start the timer, again if it runs. event::TimerFired follows once, unless CancelTimer comes
// before.
struct SetTimer {
  Timer timer = Timer::grace;
  std::uint32_t delay_ms = 0;
};
struct CancelTimer {
  Timer timer = Timer::grace;
};
// Answer a request of a rank (event::Asked).
struct Reply {
  Rank rank = 0;
  RequestId id =
      // If the id is kUnasked, this is a message for the server of the rank; parts[0] names the
      // sender.
      0;
  Response response;
};
// Read this many more bytes from this node's ranks.
struct ReadOutput {
  std::uint64_t bytes = 0;
};
struct DropStreams {};  // close each rank's pipe that is open
struct WriteStdin {     // to each local rank of Job::stdin_ranks
  Chunk bytes;
  bool end = false;
};
// Set the terminal size of the local rank of Job::terminal_ranks, which may not have started yet.
struct ResizeTerminal {
  WindowSize size;
};
// These ranks of the job failed, on any node. Ranks of this node may want to know.
struct RanksFailed {
  RankSet ranks;
};
// The agents of these nodes are gone. The ranks there that failed were reported before.
struct NodesLost {
  RankSet nodes;
};
// These ranks lost an agent on the way to them and now have another. Messages with a tag from
// kServiceTags on that were in flight between these ranks and all others may be lost. Messages that
// are sent from now on arrive.
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
struct Finishing {
  // The end is near. The shell measures this process, then sends the trace if the job asks for one.
};
struct Finish {};  // leave once all that was sent has left

// Root only: these actions say what the user sees.
struct NodeFailed {
  msg::NodeFailed failure;
};
// Every node has its agent or failed. The shell answers with Launch or Stop.
struct AllReady {
  std::uint32_t agents = 0;
  TopologyList topologies = {};  // of the nodes that told one (msg::Hello)
};
struct AllLaunched {
  std::uint32_t ranks = 0;
};
// A rank asks for a world. The shell answers with Planned.
struct Spawn {
  Rank rank = 0;
  RequestId id = 0;
  SpawnRequest request;
};
// All ranks of the world have been started. If one could not be started, none of them counts.
struct WorldLaunched {
  RankSet ranks;
  std::string why;  // not empty: a rank could not be started
};
// Every host of an AddHosts has its agent, which knows the job, or was reported with NodeFailed.
// This action also comes if the job is being ended.
struct HostsAdded {
  Slice nodes;
};
// Show output of a rank. event::OutputWritten says when its bytes were passed on.
struct ShowOutput {
  Rank rank = 0;
  Stream stream = Stream::out;
  bool end = false;
  Chunk bytes;
};
struct ShowLog {  // show it to the user
  LogRecord record;
};
// This failure decides the job's exit status.
struct FirstFailure {
  Rank rank = 0;
  Outcome outcome;
};
// Read this many more bytes from standard input.
struct ReadStdin {
  std::uint64_t bytes = 0;
};
// A piece of the trace of a node's agent. For the root's own trace, `node` is kRootNode.
struct TracePiece {
  std::uint32_t node = 0;
  bool last = false;
  Chunk bytes;
};
// All verdicts are in, or no agent is left that could give the rest.
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
                 action::HostsAdded, action::NodesLost, action::Reconnected>;

// One action. Copying, moving and destroying it is compiled in actions.cpp alone: with this many
// kinds it would be most of the compilation of every file that passes an action on.
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

using Actions = std::vector<Action>;

}  // namespace scela::nla
