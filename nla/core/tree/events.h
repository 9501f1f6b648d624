// The events that an agent's core handles. The core is the agent's state machine (agent.h). The
// shell around it, which makes the system calls (nla/process/shell.h, or the simulator), reports
// each event as it happens, in order. The root is the agent inside scela-run. Values; no thread
// shares them.
//
// Actions (action::...) are what the core asks of the shell (actions.h). An agent that loses its
// parent may be adopted: it keeps its ranks and gets a new parent. The guardian is a small process
// beside each agent that cleans the node if the agent dies. A world is a set of ranks that a rank
// added to the running job (PMI spawn). Ranks and nodes are numbered from 0 in the whole job.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/chunk.h"
#include "nla/core/wire/agent_messages.h"
#include "nla/core/wire/job.h"
#include "nla/core/wire/outcome.h"
#include "nla/core/wire/request_names.h"

namespace scela::nla {

// The links of one agent. Link 0 leads to the parent. Children count from 1 in the order in which
// they are started, and no number is reused.
using LinkId = std::uint32_t;
inline constexpr LinkId kParentLink = 0;

// The timers of an agent (action::SetTimer). Each comment says what it means that the timer has
// fired.
enum class Timer : std::uint8_t {
  // The ranks were told to end and have had the grace, Job::grace_ms: they may now be killed.
  grace,
  // Processes that ranks left behind were told to end and may now be killed.
  leftover,
  // The node is empty but a pipe does not end: a process outside the node's job holds it.
  drain,
  // Children that must end have had their time. The agent closes the links of those that have not.
  give_up,
  // This node's ranks have run for Job::host_timeout_ms, and then for the grace.
  limit,
  // No agent has adopted this one in time.
  adopt,
  // All children are ready, except some that have not answered for a second. This agent starts the
  // nodes below those itself.
  slow,
};
// The number of timers.
inline constexpr int kTimers = 7;

// The reason why the root ends a job that has not failed by itself: the time limit of the job, a
// signal of the user, output that could not be written, or too few agents. `protocol` is not used.
// The core does not read the cause.
enum class StopCause : std::uint8_t { timeout, signal, output_failed, agents_missing, protocol };

namespace event {

// Root only: start the tree of agents over these hosts.
struct Begin {
  std::string job_id;
  // The contacts of all hosts: the lines that say how each is reached (nla/core/wire/contact.h).
  // The position is the node's number.
  std::vector<std::string> hosts;
  // The most children of each agent.
  std::uint32_t degree = 1;
  // The time in milliseconds from the first signal to SIGKILL, if ranks are to end. It counts until
  // the job's own is known.
  std::uint32_t grace_ms = 0;
  // For the shells of all agents (nla/io/shell_settings.h).
  std::string settings;
  // The core ignores it.
  std::uint64_t clock_ns = 0;
  // An agent that lost its parent keeps its ranks and waits so many milliseconds for a new parent
  // (OnFailure::wait); 0: it does not.
  std::uint32_t adopt_ms = 0;
};
// Root only: start the job on the nodes that have an agent. It comes after action::AllReady. It may
// come earlier if the tree is flat (Begin::degree), no ranks are added to the job (PMI spawn) and
// no node keeps pairs for others (cache::PolicyKind::dht). Each node's ranks then start when its
// agent is ready, and the agent ends after its ranks, without waiting for other nodes. A request
// that concerns others waits, with its rank's end, until all ranks are started or will not be.
struct Launch {
  Job job;
};
// A message has come on this link.
struct Received {
  LinkId link = kParentLink;
  Message message;
  std::uint64_t clock_ns = 0;  // the core ignores it
};
// The stream of a link ended or broke: no message will come from it, and none can be sent. Comes at
// most once for each link. `why` is the reason, to print.
struct LinkEnded {
  LinkId link = kParentLink;
  std::string why;
};
// A child could not be started, and nothing of it is left. Neither LinkEnded nor ChildGone follows.
// `phase` says which step failed, and `why` the reason, to print.
struct ChildFailed {
  LinkId link = 0;
  StartPhase phase = StartPhase::connect;
  std::string why;
  bool hand_back = false;  // only the root may start it
};
// The start of a child's agent has begun. If --fanout limits how many start at once, the child has
// waited for its turn. This event precedes all other events of that child. It does not come for a
// child that is adopted.
struct ChildBegun {
  LinkId link = 0;
};
// All processes that stand for the child on this machine are gone: its agent, or the ssh session to
// it. This event follows its LinkEnded.
struct ChildGone {
  LinkId link = 0;
};
// The rank's process was started.
struct RankStarted {
  Rank rank = 0;
};
// The rank's process could not be started. `why` names the step that failed.
struct RankNotStarted {
  Rank rank = 0;
  // An errno; ECANCELED says that a signal came before the rank's turn to be started.
  std::int32_t error = 0;
  std::string why;
};
// The shell starts no rank of the set that action::StartRanks named: the node cannot hold so many.
// Answers StartRanks.
struct RanksRefused {
  RankSet ranks;  // the set of action::StartRanks
  // The errno that the start of the first rank too many would have given.
  std::int32_t error = 0;
  std::string why;
};
// The rank's process has ended. This event comes after all requests that the rank made over PMI.
struct RankExited {
  Rank rank = 0;
  Outcome outcome;
};
// A rank of this node has written these bytes: at most kMaxPiece bytes, within the credit that
// action::ReadOutput gave.
struct RankOutput {
  Rank rank = 0;
  Stream stream = Stream::out;
  Chunk bytes;
};
// The rank's pipe of this stream has ended. No RankOutput of it follows.
struct RankStreamEnded {
  Rank rank = 0;
  Stream stream = Stream::out;
};
// No descendant process of this agent is left, except agents of other nodes. It answers
// action::EndLeftovers.
struct NodeEmpty {};
// The time of a timer (action::SetTimer) is over.
struct TimerFired {
  Timer timer = Timer::grace;
};
// A rank of this node asks for something, or its PMIx server or adapter engine does so in its name.
// action::Reply with the same id answers it.
struct Asked {
  Rank rank = 0;
  RequestId id = 0;
  Request request;
};
// The guardian of this agent is gone: end the job on this node.
struct GuardianLost {
  // A signal has told the guardian or the agent to end, and the guardian may still be there.
  bool was_told = false;
};
// The bytes of standard input that every local rank that reads input has taken since the start, in
// all.
struct StdinTaken {
  std::uint64_t bytes = 0;
};
// A rank that runs has closed its standard input. This event comes once for each rank.
struct StdinClosed {
  Rank rank = 0;
};
// A rank has read the pair with this key in the memory that it shares with the agent, not by a
// request. The cache counts it as a use.
struct PairUsed {
  std::string key;
};
// A piece of the answer to action::InspectRanks, of at most kMaxPiece bytes.
struct Inspected {
  bool last = false;
  Chunk bytes;
};
// A piece of the shell's own trace (--trace), of at most kMaxPiece bytes. The core sends it to the
// root.
struct SendTrace {
  bool last = false;
  Chunk bytes;
};
// The shell has a log record for the user.
struct Say {
  LogRecord record;
};
// The shell's measurements of this process, for Stats. They are the last answer to
// action::Finishing.
struct Measured {
  std::uint64_t sent_bytes = 0;  // bytes to links, frame headers included
  // Memory of this process that it shares with no other, and all its memory that is in RAM.
  std::uint64_t private_bytes = 0;
  std::uint64_t resident_bytes = 0;
};

// Root only, like all events from here on. The answer to action::Spawn of the same rank and id: the
// plan of the world, or why there is none.
struct Planned {
  Rank rank = 0;
  RequestId id = 0;
  std::string why;  // not empty: why it cannot be
  World world;
};
// Start the agents of more hosts, given by their contacts. Their numbers follow those of the
// present hosts. This event comes only while the ranks run. action::HostsAdded answers it.
struct AddHosts {
  std::vector<std::string> hosts;
};
// At the root: forward this signal to all ranks. At an agent: forward it to the ranks of its node.
struct UserSignal {
  std::int32_t signo = 0;
};
// End the job: send the signal to all ranks, and SIGKILL after the grace. If `grace_ms` is 0,
// SIGKILL comes at once and no other signal.
struct Stop {
  StopCause cause = StopCause::signal;
  std::int32_t signo = 15;  // the first signal to the ranks
  std::uint32_t grace_ms = 0;
};
// The shell has read this from the job's standard input. `end` says that the input has ended.
struct StdinRead {
  Chunk bytes;
  bool end = false;
};
// The user's terminal has another size.
struct WindowChanged {
  WindowSize size;
};
// Ask all agents about the ranks that run (nla/core/wire/inspection.h). Each answers with
// action::Inspected. The event is ignored unless the ranks run.
struct Inspect {
  Inspection what = Inspection::processes;
  std::uint32_t limit_ms = 0;      // time for the look at the ranks of a node, in milliseconds
  std::vector<std::string> words;  // of Inspection::tool
};
// Root only: a resource manager says that the node is lost. Its agent is lost at once, also if it
// still runs. The event is ignored if the node has no agent. `why` is the reason, to print.
struct NodeDown {
  std::uint32_t node = 0;
  std::string why;
};
// The part of scela-run that shows output has passed on this many more bytes of it
// (action::ShowOutput).
struct OutputWritten {
  std::uint64_t bytes = 0;
};

}  // namespace event

using EventKinds =
    std::variant<event::Begin, event::Launch, event::Received, event::LinkEnded, event::ChildFailed,
                 event::ChildGone, event::RankStarted, event::RankNotStarted, event::RankExited,
                 event::RankOutput, event::RankStreamEnded, event::NodeEmpty, event::TimerFired,
                 event::Asked, event::GuardianLost, event::StdinTaken, event::SendTrace, event::Say,
                 event::Measured, event::UserSignal, event::Stop, event::StdinRead,
                 event::OutputWritten, event::RanksRefused, event::StdinClosed,
                 event::WindowChanged, event::ChildBegun, event::Planned, event::AddHosts,
                 event::PairUsed, event::Inspect, event::Inspected, event::NodeDown>;

// One event. Copying, moving and destroying it is compiled in events.cpp alone: with this many
// kinds it would be most of the compilation of every file that passes an event on.
class Event : public EventKinds {
 public:
  Event();
  Event(const Event& other);
  Event(Event&& other) noexcept;
  Event& operator=(const Event& other);
  Event& operator=(Event&& other) noexcept;
  ~Event();
  template <class Kind>
  requires(!std::derived_from<std::remove_cvref_t<Kind>, EventKinds> &&
           std::constructible_from<EventKinds, Kind>) Event(Kind&& one)
      : EventKinds(std::forward<Kind>(one)) {}
};

}  // namespace scela::nla
