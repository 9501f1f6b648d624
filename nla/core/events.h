// What happens to an agent. A shell (nla/shell, or the simulator) reports each as it happens, in
// order.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/chunk.h"
#include "nla/core/job.h"
#include "nla/core/messages.h"
#include "nla/core/outcome.h"
#include "nla/core/request.h"

namespace scela::nla {

// Links of one agent: 0 leads to the parent, children count from 1 in the order they are started
// and are never reused.
using LinkId = std::uint32_t;
inline constexpr LinkId kParentLink = 0;

enum class Timer : std::uint8_t {
  grace,     // ranks were told to end and may now be killed
  leftover,  // what ranks left behind was told to end and may now be killed
  drain,     // the node is empty but a pipe does not end: somebody outside holds it
  give_up,   // children do not report their end
  limit,     // this node's ranks have run for Job::host_timeout_ms, and then for the grace
  adopt,     // the parent was lost and nobody has taken its place
  slow,      // all children are ready but some that have not answered yet
};
inline constexpr int kTimers = 7;

// Why the root ends a job that has not failed by itself.
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
  // How long an agent whose parent was lost keeps its ranks (OnFailure::wait); 0: it does not.
  std::uint32_t adopt_ms = 0;
};
// Root only, after action::Ready: the job over the nodes that are there.
struct Launch {
  Job job;
};
struct Received {
  LinkId link = kParentLink;
  Message message;
  std::uint64_t clock_ns = 0;  // only read for Start and Hello
};
// The stream of a link ended or broke: no message will come from it, none can be sent. Once per
// link.
struct LinkEnded {
  LinkId link = kParentLink;
  std::string why;
};
// A child could not be started and nothing of it is left; neither LinkEnded nor ChildGone follows.
struct ChildFailed {
  LinkId link = 0;
  StartPhase phase = StartPhase::connect;
  std::string why;
  bool hand_back = false;  // this agent may not start it, the root may
};
// A child's session is on its way: it has waited for its turn, if it had to (--fanout). Before
// anything else of that child; not of one that is adopted.
struct ChildBegun {
  LinkId link = 0;
};
// Nothing of the child's node is left; after its LinkEnded.
struct ChildGone {
  LinkId link = 0;
};
struct RankStarted {
  Rank rank = 0;
};
struct RankNotStarted {
  Rank rank = 0;
  std::int32_t error = 0;  // errno; ECANCELED: SignalRanks came before its turn
  std::string why;
};
// None of this node's ranks will be started: it cannot hold so many. Answers StartRanks.
struct RanksRefused {
  RankSet ranks;           // of which action::StartRanks
  std::int32_t error = 0;  // errno: what starting the first one too many would have given
  std::string why;
};
struct RankExited {  // reported after everything it asked of PMI
  Rank rank = 0;
  Outcome outcome;  // exited, signaled or unfinished
};
struct RankOutput {  // at most kMaxPiece bytes, within the credit given by action::ReadOutput
  Rank rank = 0;
  Stream stream = Stream::out;
  Chunk bytes;
};
struct RankStreamEnded {
  Rank rank = 0;
  Stream stream = Stream::out;
};
// No descendant of this node is left (other than agents of other nodes). Only after EndLeftovers.
struct NodeEmpty {};
struct TimerFired {
  Timer timer = Timer::grace;
};
struct Asked {  // a rank asks for a primitive
  Rank rank = 0;
  RequestId id = 0;
  Request request;
};
// The guardian of this agent is gone: end the job on this node.
struct GuardianLost {};
struct StdinTaken {  // bytes all local targets have taken since the start, in all
  std::uint64_t bytes = 0;
};
struct StdinClosed {  // a rank that runs has closed its standard input; once a rank
  Rank rank = 0;
};
struct PairUsed {  // a rank has read a pair of the cache in the memory that it shares with the
                   // agent
  std::string key;
};
struct SendTrace {  // the shell's own trace, to be carried to the root; pieces of at most kMaxPiece
  bool last = false;
  Chunk bytes;
};
struct Say {  // the shell's own log record
  LogRecord record;
};
// What the shell measured of this process, for Stats; the last answer to action::Finishing.
struct Measured {
  std::uint64_t sent_bytes = 0;  // written to links, frame headers included
  std::uint64_t private_bytes = 0;
  std::uint64_t resident_bytes = 0;
};

// Root only.
struct Planned {  // answers action::Spawn
  Rank rank = 0;
  RequestId id = 0;
  std::string why;  // not empty: it cannot be
  World world;
};
// More hosts, whose numbers follow those that there are: start their agents. Only while the ranks
// run.
struct AddHosts {
  std::vector<std::string> hosts;
};
struct UserSignal {  // forward to all ranks
  std::int32_t signo = 0;
};
struct Stop {  // end the job
  StopCause cause = StopCause::signal;
  std::int32_t signo = 15;     // what ranks get first
  std::uint32_t grace_ms = 0;  // 0: SIGKILL at once
};
struct StdinRead {
  Chunk bytes;
  bool end = false;
};
struct WindowChanged {  // the person's terminal has another size
  WindowSize size;
};
struct OutputWritten {  // the presenter has passed on this many bytes
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

// What happens to an agent. Copying, moving and destroying one is compiled in one file: with this
// many kinds it would be most of the compilation of every file that passes one on.
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
