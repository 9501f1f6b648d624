// The messages between agents, and their encoding. Agents' cores and shells use this file.
//
// A frame (common/core/frame.h) carries one message. The frame's kind is the message's position in
// the variant below plus one. Its payload is the fields in the order written here: integers
// little-endian or varint, strings with a varint length, rank sets as ranges. If a message ends in
// a Chunk, the Chunk's bytes fill the rest of the frame. Bulk data is cut into pieces of at most
// kMaxPiece bytes, and every piece can be forwarded on its own. docs/design/protocol.md has the
// reasons.
//
// In the comments, d is from parent to child, u from child to parent. Values only, for any thread.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/chunk.h"
#include "common/core/frame.h"
#include "common/core/kary_tree.h"
#include "common/core/log.h"
#include "common/core/rank_set.h"
#include "common/core/result.h"
#include "common/core/terminal.h"
#include "nla/core/wire/outcome.h"
#include "nla/core/wire/request.h"
#include "nla/core/wire/topologies.h"

namespace scela::nla {

inline constexpr std::uint16_t kProtocolVersion = 1;

enum class Stream : std::uint8_t { out, err };

// The phase in which a node's agent failed. It decides the advice and the exit status.
enum class StartPhase : std::uint8_t {
  resolve,       // the host's name has no address
  connect,       // ssh did not reach the host
  host_key,      // the host's key is not accepted
  authenticate,  // the login was refused
  start_agent,   // the agent did not start there
  hello,         // it started, but never became ready
  running        // it was ready and was lost later
};
std::string_view name_of(StartPhase phase);

std::string_view name_of(CollectiveKind kind);

// One collective operation: the operation number `seq` (from 0) among the ranks of `set` with this
// tag.
struct CollectiveId {
  RankSet set;
  std::uint64_t seq = 0;
  std::uint32_t tag = 0;
  friend bool operator==(const CollectiveId&, const CollectiveId&) = default;
  friend auto operator<=>(const CollectiveId&, const CollectiveId&) = default;
};

// Totals over a subtree, sent once with Done.
struct Stats {
  std::uint32_t agents = 0;
  std::uint64_t messages = 0;           // messages sent on links
  std::uint64_t bytes = 0;              // bytes sent on links, with frame headers
  std::uint64_t max_private_bytes = 0;  // largest of any agent
  std::uint64_t max_resident_bytes = 0;
  std::uint64_t cache_bytes = 0;       // largest of any agent
  std::uint64_t root_cache_bytes = 0;  // The root may hold what no agent holds.
  std::uint64_t output_bytes = 0;      // bytes read from ranks
  friend bool operator==(const Stats&, const Stats&) = default;
};

namespace msg {

// d: the first message on every link: the receiver's identity and the slice that it looks after.
struct Start {
  std::uint16_t version = kProtocolVersion;
  std::string job_id;
  // The slice of the host list; the receiver runs on host slice.first.
  Slice slice;
  std::uint32_t nodes = 0;  // number of nodes in the whole host list
  std::uint32_t degree = 0;
  std::uint32_t output_window = 0;  // output bytes to send before credit
  std::uint64_t clock_ns = 0;       // the parent's clock when it sent this
  std::uint32_t grace_ms = 0;       // used if the link ends before the job
  // For the shell (record file, node shares); opaque to the core.
  std::string settings;
  // The node of the sender; UINT32_MAX: scela-run itself.
  std::uint32_t parent = UINT32_MAX;
  std::uint32_t adopt_ms = 0;  // see event::Begin::adopt_ms
  friend bool operator==(const Start&, const Start&) = default;
};
// d: the contacts of the slice's hosts (contact.h) in order, each with a newline. If there are
// fewer than Start says, the slice ends there.
struct SliceHosts {
  bool last = false;
  Chunk names;
  friend bool operator==(const SliceHosts&, const SliceHosts&) = default;
};
// d: encode(Job) in pieces; the last piece starts the ranks.
struct JobBytes {
  bool last = false;
  Chunk bytes;
  friend bool operator==(const JobBytes&, const JobBytes&) = default;
};
struct Signal {  // d: deliver the signal to every rank
  std::int32_t signo = 0;
  friend bool operator==(const Signal&, const Signal&) = default;
};
// d: PROCESS_TERMINATE: send signo to every rank, and SIGKILL after the grace.
struct Terminate {
  std::int32_t signo = 15;
  std::uint32_t grace_ms = 0;
  friend bool operator==(const Terminate&, const Terminate&) = default;
};
// d: every rank has its verdict: end what is left, report, leave.
struct Shutdown {
  friend bool operator==(const Shutdown&, const Shutdown&) = default;
};
// d: a piece of the result. A piece without records that is not the last one is a probe: the
// receiver opens the operation.
struct CollectiveDown {
  CollectiveId id;
  CollectiveKind kind = CollectiveKind::barrier;
  Rank root = 0;
  bool last = false;
  // With last: the members that ended without taking part. If it is not empty, the operation
  // failed.
  RankSet missing;
  // With last: how the members disagreed about the operation; empty if they agreed.
  std::string mismatch;
  Chunk records;
  // The records are packed (nla/core/wire/packing.h). Only a fence's are.
  bool packed = false;
  // With last, of a fence: the latest clock of its members (cache/store.h).
  std::uint32_t clock = 0;
  friend bool operator==(const CollectiveDown&, const CollectiveDown&) = default;
};
struct Answer {  // d: answers a Get; u: one that came down
  std::string key;
  bool wait = false;   // that of the Get
  bool found = false;  // if not, `value` is empty
  bool lost = false;   // the key's owner was lost (policy dht)
  Chunk value;
  friend bool operator==(const Answer&, const Answer&) = default;
};
// d: input for the ranks of Job::stdin_ranks
struct Stdin {
  bool end = false;
  Chunk bytes;
  friend bool operator==(const Stdin&, const Stdin&) = default;
};
struct Credit {  // d: this many more bytes may be sent
  std::uint64_t bytes = 0;
  // The bytes that this child has sent on this link and that have come to the root, in all. The
  // child need not keep them for another parent.
  std::uint64_t past = 0;
  friend bool operator==(const Credit&, const Credit&) = default;
};

// u: the first message of an agent, after Start.
struct Hello {
  std::uint16_t version = kProtocolVersion;
  std::uint32_t node = 0;
  std::uint64_t parent_clock_ns = 0;  // see Start::clock_ns
  std::uint64_t clock_ns = 0;
  // Topology::bytes() of its machine, if the settings ask for it.
  std::string topology = {};
  friend bool operator==(const Hello&, const Hello&) = default;
};
// u: a node of the subtree has no agent, or has none any more.
struct NodeFailed {
  std::uint32_t node = 0;
  StartPhase phase = StartPhase::connect;
  std::string why;
  friend bool operator==(const NodeFailed&, const NodeFailed&) = default;
};
// u: every node of the subtree has its agent or was reported.
struct Ready {
  std::uint32_t agents = 0;
  // The topologies of the nodes below the sender; its own is in its Hello.
  TopologyList topologies = {};
  friend bool operator==(const Ready&, const Ready&) = default;
};
// u: every rank of the subtree was started or has its verdict.
struct Launched {
  std::uint32_t ranks = 0;  // ranks that were started
  friend bool operator==(const Launched&, const Launched&) = default;
};
// u: PROCESS_FAIL, sent at once; the verdict follows in Verdicts all the same.
struct ProcessFail {
  Rank rank = 0;
  Outcome outcome;
  friend bool operator==(const ProcessFail&, const ProcessFail&) = default;
};
// u: verdicts of ranks of the subtree, sent when the first has ended and when all have.
struct Verdicts {
  std::vector<std::pair<Outcome, RankSet>> groups;
  friend bool operator==(const Verdicts&, const Verdicts&) = default;
};
// u: the last message: nothing of the job is left on the nodes of the subtree.
struct Done {
  Stats stats;
  friend bool operator==(const Done&, const Done&) = default;
};
// u: a piece of the subtree's contributions
struct CollectiveUp {
  CollectiveId id;
  CollectiveKind kind = CollectiveKind::barrier;
  Rank root = 0;
  // With last: every member in the subtree has taken part or is in `missing`.
  bool last = false;
  RankSet missing;
  std::string mismatch;
  Chunk records;
  bool packed = false;
  std::uint32_t clock = 0;
  friend bool operator==(const CollectiveUp&, const CollectiveUp&) = default;
};
// u: asks for the value of this key. d: asks an owner in the receiver's subtree (policy dht).
struct Get {
  std::string key;
  bool wait = false;  // answer once the pair is there
  friend bool operator==(const Get&, const Get&) = default;
};
// u: a pair that travels at once (policy hcs)
struct Put {
  std::string key;
  Chunk value;
  friend bool operator==(const Put&, const Put&) = default;
};
// u: bytes that a rank wrote. `end`: nothing more will come from this stream.
struct Output {
  Rank rank = 0;
  Stream stream = Stream::out;
  bool end = false;
  Chunk bytes;
  friend bool operator==(const Output&, const Output&) = default;
};
struct StdinTaken {  // u: progress of standard input
  // The bytes of standard input that all targets of the subtree have taken, in all.
  std::uint64_t bytes = 0;
  // No target takes any more: nothing needs to be sent from now on.
  bool last = false;
  friend bool operator==(const StdinTaken&, const StdinTaken&) = default;
};
// u: a log record for the user.
struct Log {
  LogRecord record;
  std::uint32_t node = 0;  // the node that says it
  friend bool operator==(const Log&, const Log&) = default;
};
// u: an agent's trace in pieces, which are opaque to the core.
struct Report {
  std::uint32_t node = 0;
  bool last = false;
  Chunk bytes;
  friend bool operator==(const Report&, const Report&) = default;
};

// Both ways: NLA_Send, routed by rank location. Large payloads travel in pieces.
struct RoutedMessage {
  Rank source = 0;
  Rank destination = 0;
  std::uint32_t tag = 0;
  std::uint64_t total = 0;   // bytes of the whole message
  std::uint64_t offset = 0;  // offset of this piece
  Chunk bytes;
  friend bool operator==(const RoutedMessage&, const RoutedMessage&) = default;
};

// u: this agent may not start these nodes of its slice; the root is to start them.
struct HandBack {
  Slice slice;
  friend bool operator==(const HandBack&, const HandBack&) = default;
};

// d: these ranks failed and the job goes on without them (OnFailure::wait).
struct PeersFailed {
  RankSet ranks;
  friend bool operator==(const PeersFailed&, const PeersFailed&) = default;
};

// The part of one stream that an adopter has. The orphan goes on behind it.
struct Seen {
  Rank rank = 0;
  Stream stream = Stream::out;
  std::uint64_t bytes = 0;
  bool end = false;
  friend bool operator==(const Seen&, const Seen&) = default;
};
// d: the first messages on the link to an agent that lost its parent; `last` marks the last of
// them.
struct Adopt {
  std::uint16_t version = kProtocolVersion;
  std::string job_id;
  std::uint32_t parent = UINT32_MAX;
  // The slice of the receiver as far as the sender knows; the receiver has at most this.
  Slice slice;
  std::uint32_t output_window = 0;
  std::vector<Seen> seen;
  bool last = false;
  friend bool operator==(const Adopt&, const Adopt&) = default;
};
// u: answers the last Adopt. The sender then repeats what the lost parent may not have passed on.
struct Orphan {
  // The sender's real slice: the rest of what Adopt said is not below it.
  Slice slice;
  std::uint32_t agents = 0;  // agents in its subtree
  std::uint64_t input_received = 0;
  std::uint64_t input_taken = 0;  // see StdinTaken
  bool input_last = false;
  bool input_end = false;    // the end of the input was received
  std::uint32_t worlds = 0;  // number of worlds that it knows
  friend bool operator==(const Orphan&, const Orphan&) = default;
};
// u: the slices of the sender's children: the agents to adopt if the sender is lost.
struct Below {
  std::vector<Slice> slices;
  friend bool operator==(const Below&, const Below&) = default;
};
// Both ways: an agent was lost, and these ranks and all others cannot exchange messages any more.
// It travels up to the root, and from there down to every agent.
struct CutOff {
  RankSet ranks;
  // Sent by the orphan itself: messages in flight to the root may be lost.
  bool now = false;
  friend bool operator==(const CutOff&, const CutOff&) = default;
};
// Both ways: the agents of these nodes are gone. Those of their ranks that failed were reported
// before. It travels up to the root, and from there down to every agent.
struct NodesLost {
  RankSet nodes;  // node numbers, not ranks
  friend bool operator==(const NodesLost&, const NodesLost&) = default;
};
// d: the present size of the terminal of Job::terminal_ranks. The last one counts.
struct Resize {
  WindowSize size;
  friend bool operator==(const Resize&, const Resize&) = default;
};
// u: a rank asks about a name. The root answers.
struct NameAsked {
  Rank rank = 0;
  std::uint64_t id = 0;  // id of the rank's request
  NameAct act = NameAct::lookup;
  std::string name;
  std::string port;
  NameRange range = NameRange::job;
  friend bool operator==(const NameAsked&, const NameAsked&) = default;
};
struct NameAnswer {  // d: answers NameAsked
  Rank rank = 0;
  std::uint64_t id = 0;
  bool ok = true;
  std::string text;  // the port, or the error if not ok
  friend bool operator==(const NameAnswer&, const NameAnswer&) = default;
};

// d: pairs on their way to owners in the subtree (policy dht), encoded as in an aggregate.
struct Pairs {
  Chunk pairs;
  friend bool operator==(const Pairs&, const Pairs&) = default;
};
// u: a rank asks for more ranks. The root answers.
struct SpawnAsked {
  Rank rank = 0;
  std::uint64_t id = 0;  // id of the rank's request
  SpawnRequest request;
  friend bool operator==(const SpawnAsked&, const SpawnAsked&) = default;
};
struct SpawnAnswer {  // d: answers SpawnAsked
  Rank rank = 0;
  std::uint64_t id = 0;
  bool ok = true;
  std::string text;  // the new world's name, or the error
  // If not ok: 0 (started) or 1 for every rank, separated by commas; empty for very many ranks.
  std::string codes;
  friend bool operator==(const SpawnAnswer&, const SpawnAnswer&) = default;
};
// d: encode(World) in pieces; the last piece starts its ranks.
struct WorldBytes {
  bool last = false;
  Chunk bytes;
  friend bool operator==(const WorldBytes&, const WorldBytes&) = default;
};
// u: every rank of the world in the subtree was started or will not be.
struct WorldLaunched {
  std::uint32_t world = 0;
  RankSet started;
  std::int32_t error = 0;  // errno and reason of one that failed
  std::string why;
  friend bool operator==(const WorldLaunched&, const WorldLaunched&) = default;
};
// d: kill these ranks. Their end is no failure.
struct EndRanks {
  RankSet ranks;
  friend bool operator==(const EndRanks&, const EndRanks&) = default;
};

}  // namespace msg

using MessageKinds =
    std::variant<msg::Start, msg::SliceHosts, msg::JobBytes, msg::Signal, msg::Terminate,
                 msg::Shutdown, msg::CollectiveDown, msg::Answer, msg::Stdin, msg::Credit,
                 msg::Hello, msg::NodeFailed, msg::Ready, msg::Launched, msg::ProcessFail,
                 msg::Verdicts, msg::Done, msg::CollectiveUp, msg::Get, msg::Put, msg::Output,
                 msg::StdinTaken, msg::Log, msg::Report, msg::RoutedMessage, msg::PeersFailed,
                 msg::HandBack, msg::Adopt, msg::Orphan, msg::Below, msg::CutOff, msg::Resize,
                 msg::NameAsked, msg::NameAnswer, msg::Pairs, msg::SpawnAsked, msg::SpawnAnswer,
                 msg::WorldBytes, msg::WorldLaunched, msg::EndRanks, msg::NodesLost>;

// One message of the protocol. Copying, moving and destroying it is compiled in messages.cpp alone:
// with this many kinds it would be most of the compilation of every file that passes one on.
class Message : public MessageKinds {
 public:
  Message();
  Message(const Message& other);
  Message(Message&& other) noexcept;
  Message& operator=(const Message& other);
  Message& operator=(Message&& other) noexcept;
  ~Message();
  template <class Kind>
  requires(!std::derived_from<std::remove_cvref_t<Kind>, MessageKinds> &&
           std::constructible_from<MessageKinds, Kind>) Message(Kind&& one)
      : MessageKinds(std::forward<Kind>(one)) {}
};

std::string_view name_of(const Message& message);

// A message ready for a link. `head` is the frame header and the fields. `tail`, which may be
// empty, is the bytes after them; they are shared, not copied.
struct Encoded {
  std::string head;
  Chunk tail;
  std::size_t size() const { return head.size() + tail.size(); }
};
Encoded encode(const Message& message);

// Decodes a frame. If the message ends in a Chunk, the Chunk takes over the frame's payload without
// a copy. Returns a protocol error if the kind is unknown or the payload is short, overlong or
// impossible.
Result<Message> decode(Frame frame);

}  // namespace scela::nla
