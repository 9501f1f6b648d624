// A schedule: everything one simulated job depends on, as a value.
//
// Made from a seed (tests/sim/generator/generate.h), printed and read back as text (one line a
// fact, so that a shrunk failure can be read, kept in seeds/ and replayed even after the generator
// has changed), and cut down by shrink.h. Knows nothing of how it is run. Times are virtual
// microseconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/policy.h"
#include "common/core/placement/rank_map.h"
#include "common/core/result.h"
#include "nla/core/tree/events.h"
#include "nla/core/wire/job.h"

namespace scela::sim {

using Micros = std::uint64_t;
inline constexpr std::uint32_t kRootHost = UINT32_MAX;  // the launcher itself, in faults

enum class OpKind : std::uint8_t {
  put,
  get,
  collective,
  send,
  receive,
  output,      // `size` bytes to standard output, or to standard error if `wait`
  read_input,  // `size` bytes of standard input, fewer at its end
  join,        // wait for every answer that is still due
  pause,       // `size` microseconds
  leave,       // exit with `code`
  die,         // by signal `code`
  unfinished,  // exit with 0 without having finalized
  abort,       // ask for the end of the job with `code`
  violate,     // break the protocol
  publish,     // the name `ref`
  lookup,      // likewise
  unpublish,   // likewise
  spawn,       // `size` ranks with the numbers after those of all spawns before; `ref` hosts
               // with the numbers after those of all hosts get agents for it
};
inline constexpr std::size_t kOpKinds = static_cast<std::size_t>(OpKind::spawn) + 1;

// One step of one rank, or a collective of several. A schedule's ops stand in one serial order;
// every rank runs those it takes part in, in that order, which therefore cannot deadlock.
struct Op {
  std::uint32_t id = 0;  // stable while a schedule shrinks; names keys, tags and payloads
  OpKind kind = OpKind::join;
  Rank rank = 0;  // the one that runs it; in a collective: its root
  RankSet set;    // collective: its members
  nla::CollectiveKind what = nla::CollectiveKind::barrier;
  std::uint32_t size = 0;
  bool uneven = false;    // collective: sizes differ from part to part, up to `size`
  bool wait = false;      // get
  bool async = false;     // go on without waiting for the answer
  Rank peer = 0;          // get: the putter; send: receiver; receive: sender
  std::uint32_t ref = 0;  // get: id of the put; publish, lookup, unpublish: which name; spawn
  std::int32_t code = 0;  // send, receive, collective: the tag
  bool odd = false;       // collective: the member `peer` asks for something else
  friend bool operator==(const Op&, const Op&) = default;
};

enum class StartFault : std::uint8_t {
  refused,    // ChildFailed, phase connect
  denied,     // ChildFailed, phase authenticate
  missing,    // ChildFailed, phase start_agent
  slow,       // starts after `delay`
  stillborn,  // the link comes up and ends before the agent says anything
  keyless,    // starts, but may start no other: its children are handed back to the root
  waits,      // its turn comes after `delay`
};
struct HostStart {
  std::uint32_t host = 0;
  StartFault how = StartFault::refused;
  Micros delay = 0;
  friend bool operator==(const HostStart&, const HostStart&) = default;
};

enum class FaultKind : std::uint8_t {
  crash,          // the agent dies; what it sent still arrives; its guardian ends the node
  crash_silent,   // the agent dies; what is under way is lost
  freeze,         // the agent stops; its guardian sees it and ends the node
  power_off,      // everything on the host dies at once
  cut,            // the link to the parent breaks; both ends live
  guardian_lost,  // the agent's guardian dies
};
struct Fault {
  FaultKind kind = FaultKind::crash;
  std::uint32_t host = 0;
  Micros at = 0;
  bool after_launch = false;  // `at` counts from event::Launch, else from the beginning
  friend bool operator==(const Fault&, const Fault&) = default;
};

// An action of the user.
struct Stimulus {
  bool stop = false;  // event::Stop, else event::UserSignal
  nla::StopCause cause = nla::StopCause::signal;
  std::int32_t signo = 15;
  std::uint32_t grace_ms = 100;
  Micros at = 0;
  bool after_launch = false;
  friend bool operator==(const Stimulus&, const Stimulus&) = default;
};

// The person's terminal gets another size: 1 column the first time, 2 the second, and so on.
struct Window {
  Micros at = 0;
  bool after_launch = false;
  friend bool operator==(const Window&, const Window&) = default;
};

// A process that a rank leaves behind, holding the rank's pipes.
enum class LeftoverKind : std::uint8_t {
  obeys,    // ends on SIGTERM
  ignores,  // ends on SIGKILL only
  outside,  // out of reach: the pipe ends only when the agent drops it
};
struct Leftover {
  Rank rank = 0;
  LeftoverKind kind = LeftoverKind::obeys;
  friend bool operator==(const Leftover&, const Leftover&) = default;
};

struct Pace {
  Micros link_min = 20;  // one message on one link
  Micros link_max = 200;
  std::uint32_t tail = 50;  // one message in `tail` takes 20 times longer; 0: none
  Micros start_min = 1000;  // from StartChild to a running agent
  Micros start_max = 10000;
  Micros notice_max = 5000;  // until the end of a link is seen
  Micros think_max = 50;     // between two steps of a rank
  Micros show_max = 300;     // the presenter, per piece
  friend bool operator==(const Pace&, const Pace&) = default;
};

struct Schedule {
  std::uint64_t seed = 0;        // where it came from; 0: written by hand
  std::uint64_t delay_seed = 0;  // of everything drawn while it runs
  std::uint32_t hosts = 1;
  std::uint32_t degree = 1;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> place;  // (node, ranks), in rank order
  nla::OnFailure on_failure = nla::OnFailure::kill;
  cache::PolicyKind policy = cache::PolicyKind::hcmab;
  std::uint32_t cache_limit = 0;
  std::uint32_t grace_ms = 100;
  std::uint32_t adopt_ms = 0;      // how long an agent waits for a new parent; 0: it does not
  std::uint32_t attach_fails = 0;  // one attempt in this many to adopt an agent; 0: none
  bool trace = false;
  bool early = false;          // launch at once; the tree is flat
  bool launch_anyway = true;   // when nodes are missing, launch all the same
  bool remap = true;           // and give the ranks of missing nodes to others
  bool local_children = true;  // a node is gone only when the agents it started are gone
  std::uint32_t codec_every =
      8;  // one message in this many goes through encode and decode; 0: none
  RankSet stdin_ranks;
  std::uint64_t stdin_bytes = 0;
  RankSet terminal_ranks;
  RankSet not_started;  // their program is missing
  RankSet stubborn;     // survive every signal but SIGKILL
  Pace pace;
  std::vector<HostStart> starts;
  std::vector<Fault> faults;
  std::vector<Stimulus> stimuli;
  std::vector<Window> windows;
  std::vector<Leftover> leftovers;
  std::vector<Op> ops;

  RankMap map() const;
  // With those that are spawned.
  Rank all_ranks() const;
  RankSet spawned_by(std::uint32_t op) const;
  // Ops name ranks that there may be only.
  bool is_consistent() const;
  // Returns true if no step of it can make a rank or a request fail.
  bool peaceful() const;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// As to_text() names them.
std::string_view name_of(OpKind kind);
std::string_view name_of(StartFault fault);
std::string_view name_of(FaultKind kind);
std::string_view name_of(LeftoverKind kind);
std::string to_text(const Schedule& schedule);
// Lines that begin with '#' and empty ones are skipped. Error (usage): the line and what is wrong.
Result<Schedule> parse_schedule(std::string_view text);

}  // namespace scela::sim
