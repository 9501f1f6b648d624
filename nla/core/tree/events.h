// The events that an agent's core handles. A shell (nla/process/shell.h, or the simulator) reports
// each as it happens, in order. Values; no thread shares them.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/chunk.h"
#include "nla/core/wire/job.h"
#include "nla/core/wire/messages.h"
#include "nla/core/wire/outcome.h"
#include "nla/core/wire/request.h"

namespace scela::nla {

// The links of one agent. Link 0 leads to the parent. Children count from 1 in the order in which
// they are started, and no number is reused.
using LinkId = std::uint32_t;
inline constexpr LinkId kParentLink = 0;

enum class Timer : std::uint8_t {
  grace,  // ranks were told to end; now kill them
  // Processes that ranks left behind were told to end and may now be killed.
  leftover,
  // The node is empty but a pipe does not end: a process outside the node's job holds it.
  drain,
  // Children that must end have had their time. The agent closes the links of those that have not.
  give_up,
  // This node's ranks have run for Job::host_timeout_ms, and then for the grace.
  limit,
  adopt,  // no agent has adopted this one in time
  // All children are ready, except some that have not answered yet.
  slow,
};
inline constexpr int kTimers = 7;

// The reason why the root ends a job that has not failed by itself: the time limit of the job, a
// signal of the user, output that could not be written, or too few agents. `protocol` is not used.
// The core does not read the cause.
enum class StopCause : std::uint8_t { timeout, signal, output_failed, agents_missing, protocol };

namespace event {

// Root only: start the tree over these hosts.
struct Begin {
  std::string job_id;
  std::vector<std::string> hosts;
  std::uint32_t degree = 1;
  std::uint32_t grace_ms = 0;
  std::string settings;
  std::uint64_t clock_ns = 0;
  // An agent that lost its parent keeps its ranks for this time (OnFailure::wait); 0: it does not.
  std::uint32_t adopt_ms = 0;
};
// Root only, after action::AllReady: start the job on the nodes that are there.
struct Launch {
  Job job;
};
struct Received {
  LinkId link = kParentLink;
  Message message;
  std::uint64_t clock_ns = 0;  // the core ignores it
};
// The stream of a link ended or broke: no message will come from it, and none can be sent. Comes
// once for each link.
struct LinkEnded {
  LinkId link = kParentLink;
  std::string why;
};
// A child could not be started, and nothing of it is left. Neither LinkEnded nor ChildGone follows.
struct ChildFailed {
  LinkId link = 0;
  StartPhase phase = StartPhase::connect;
  std::string why;
  bool hand_back = false;  // only the root may start it
};
// A child's session has begun. It has waited for its turn, if it had to (--fanout). Precedes all
// other events of that child. Does not come for a child that is adopted.
struct ChildBegun {
  LinkId link = 0;
};
// The child's process has left nothing behind. This event follows its LinkEnded.
struct ChildGone {
  LinkId link = 0;
};
// The rank's process was started.
struct RankStarted {
  Rank rank = 0;
};
struct RankNotStarted {
  Rank rank = 0;
  // An errno; ECANCELED says that SignalRanks came before the rank's turn.
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
struct RankExited {  // comes after all that it asked of PMI
  Rank rank = 0;
  Outcome outcome;
};
// At most kMaxPiece bytes, within the credit that action::ReadOutput gave.
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
// No descendant of this node is left, except agents of other nodes. Comes only after EndLeftovers.
struct NodeEmpty {};
struct TimerFired {
  Timer timer = Timer::grace;
};
// A rank of this node asks for something, or its server does so in its name. action::Reply with the
// same id answers it.
struct Asked {
  Rank rank = 0;
  RequestId id = 0;
  Request request;
};
// The guardian of this agent is gone: end the job on this node.
struct GuardianLost {};
// The bytes that all local targets have taken since the start, in all.
struct StdinTaken {
  std::uint64_t bytes = 0;
};
// A rank that runs has closed its standard input. Comes once for each rank.
struct StdinClosed {
  Rank rank = 0;
};
// A rank has read a pair of the cache in the memory that it shares with the agent.
struct PairUsed {
  std::string key;
};
// The shell's own trace, which goes to the root in pieces of at most kMaxPiece.
struct SendTrace {
  bool last = false;
  Chunk bytes;
};
// The agent's shell (its system calls) has a log record for the user.
struct Say {
  LogRecord record;
};
// The shell's measurements of this process, for Stats. They are the last answer to
// action::Finishing.
struct Measured {
  std::uint64_t sent_bytes = 0;  // bytes to links, frame headers included
  std::uint64_t private_bytes = 0;
  std::uint64_t resident_bytes = 0;
};

// Root only: the events from here on.
// Answers action::Spawn of the same rank and id.
struct Planned {
  Rank rank = 0;
  RequestId id = 0;
  std::string why;  // not empty: why it cannot be
  World world;
};
// Start the agents of more hosts. Their numbers follow those of the present hosts. Only while the
// ranks run.
struct AddHosts {
  std::vector<std::string> hosts;
};
struct UserSignal {  // forward the signal to all ranks
  std::int32_t signo = 0;
};
// End the job. If `grace_ms` is 0, SIGKILL comes at once and no other signal.
struct Stop {
  StopCause cause = StopCause::signal;
  std::int32_t signo = 15;  // the first signal to the ranks
  std::uint32_t grace_ms = 0;
};
struct StdinRead {
  Chunk bytes;
  bool end = false;
};
struct WindowChanged {  // the user's terminal has another size
  WindowSize size;
};
struct OutputWritten {  // the presenter has passed these on
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
                 event::PairUsed>;

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
