// What an agent wants done. A shell carries actions out in order; none is answered synchronously.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "nla/core/events.h"

namespace scela::nla {

namespace action {

struct Send {
  LinkId link = kParentLink;
  Message message;
};
// Start the agent of host `node`; what is sent on `link` is kept until it runs.
struct StartChild {
  LinkId link = 0;
  std::uint32_t node = 0;
  std::uint32_t end = 0;  // of the slice that begins with it
  std::string host;
  bool attach = false;  // it runs, and waits for a new parent: this one
};
// Give the link up: the stream is closed at once, LinkEnded does not follow (ChildGone does).
struct CloseLink {
  LinkId link = 0;
};
struct StartRanks {  // all of this node, or those of a world; the shell has the job from
                     // action::UseJob
  RankSet ranks;
};
struct UseJob {  // comes before anything else about ranks
  Job job;
};
struct AddWorld {  // to the job; comes before its ranks are to be started
  World world;
};
struct EndRanks {  // kill those that run, do not start those that wait
  RankSet ranks;
};
struct SignalRanks {  // to the process groups of the ranks that still run (SIGCONT follows SIGTERM,
                      // SIGINT, SIGHUP)
  std::int32_t signo = 0;
};
// Ask (SIGTERM) or force (SIGKILL, again until nobody is left) every descendant of this node that
// is not another node's agent. Answered by event::NodeEmpty.
struct EndLeftovers {
  bool force = false;
};
struct SetTimer {
  Timer timer = Timer::grace;
  std::uint32_t delay_ms = 0;
};
struct CancelTimer {
  Timer timer = Timer::grace;
};
struct Reply {
  Rank rank = 0;
  RequestId id =
      0;  // kUnasked: a message for who serves the rank, from the rank that parts[0] says
  Response response;
};
struct ReadOutput {  // this many more bytes may be read from this node's ranks
  std::uint64_t bytes = 0;
};
struct DropStreams {};  // close every pipe of a rank that has not ended
struct WriteStdin {     // to every local rank of Job::stdin_ranks
  Chunk bytes;
  bool end = false;
};
struct ResizeTerminal {  // of the local rank of Job::terminal_ranks, which may not have started yet
  WindowSize size;
};
struct RanksFailed {  // of this job, wherever; ranks of this node may want to know
  RankSet ranks;
};
struct NodesLost {  // their agents are gone; ranks there that have failed were told of before
  RankSet nodes;
};
// These lost an agent that led to them, and have another: what was under way between them and all
// others for who serves ranks (kServiceTags) may be lost, what is sent from now on arrives.
struct Reconnected {
  RankSet ranks;
};
// The link to the parent has ended and may be replaced: let another agent of this job attach to
// this one. Received(kParentLink) tells what it says, LinkEnded that it is lost too. `still` false:
// not any more, whoever has attached is let go.
struct AwaitAdoption {
  bool still = true;
};
struct Finishing {
};                 // the end is near: measure yourself, then send the trace if the job asks for it
struct Finish {};  // leave when what was sent has left

// Root only: what the person sees.
struct NodeFailed {
  msg::NodeFailed failure;
};
struct AllReady {  // every node has its agent or failed; answer with Launch or Stop
  std::uint32_t agents = 0;
  TopologyList topologies = {};  // of the nodes that were asked (msg::Hello)
};
struct AllLaunched {
  std::uint32_t ranks = 0;
};
struct Spawn {  // a rank asks for a world; answer with Planned
  Rank rank = 0;
  RequestId id = 0;
  SpawnRequest request;
};
struct WorldLaunched {  // its ranks have been started; or one has not, and none of it counts
  RankSet ranks;
  std::string why;  // not empty: one has not
};
// Every host of an AddHosts has its agent, which knows the job, or was reported with NodeFailed; or
// the job is being ended.
struct HostsAdded {
  Slice nodes;
};
struct ShowOutput {
  Rank rank = 0;
  Stream stream = Stream::out;
  bool end = false;
  Chunk bytes;
};
struct ShowLog {
  LogRecord record;
};
struct FirstFailure {  // the failure that decides the job's exit status
  Rank rank = 0;
  Outcome outcome;
};
struct ReadStdin {  // this many more bytes may be read from standard input
  std::uint64_t bytes = 0;
};
struct TracePiece {
  std::uint32_t node = 0;
  bool last = false;
  Chunk bytes;
};
struct JobEnded {  // all verdicts are in, or nobody is left to give them
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

// What an agent has its shell do. Copying, moving and destroying one is compiled in one file: with
// this many kinds it would be most of the compilation of every file that passes one on.
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
