// The messages between agents, and their encoding. Agents' cores and shells use this file.
//
// An agent is the process of a job on one node; a node is a host of the job, numbered from 0 in the
// order of the host list. Agents form a tree, and the root is inside scela-run. Each agent has a
// slice: the nodes [first, end) that it and the agents below it look after. A rank's verdict is how
// it ended (outcome.h). A world is a set of ranks that a rank added to the running job (PMI spawn).
// The policy decides on which nodes pairs (keys with values of PMI) are kept (cache/policy.h). With
// the policy hcs, a pair travels up at once; with dht, each key has an owner, a rank. An orphan is
// an agent that lost its parent; its adopter is the new parent. Ranks are numbered from 0 in the
// whole job. A Chunk (common/core/chunk.h) is an immutable run of bytes that copies share.
//
// A frame (common/core/frame.h) carries one message. The frame's kind is the message's position in
// the variant below plus one. Its payload is the fields in the order written here: integers
// little-endian or varint, strings with a varint length, rank sets as ranges. If a message ends in
// a Chunk, the Chunk's bytes fill the rest of the frame. Bulk data is cut into pieces of at most
// kMaxPiece bytes, and every piece can be forwarded on its own. A field `last` is true in the last
// piece. docs/design/protocol.md has the reasons.
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
#include "common/core/terminal_modes.h"
#include "nla/core/wire/inspection.h"
#include "nla/core/wire/outcome.h"
#include "nla/core/wire/request_names.h"
#include "nla/core/wire/topologies.h"

namespace scela::nla {

// The version that both ends of a link must have.
inline constexpr std::uint16_t kProtocolVersion = 1;

// Standard output or standard error of a rank.
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
// Returns the text of the phase for messages to the user.
std::string_view name_of(StartPhase phase);

// Returns the name of the enumerator.
std::string_view name_of(CollectiveKind kind);

// Names one collective operation of the job: the one with number `seq` (from 0) among the ranks of
// `set` with this tag. Operations of one set with different tags are independent of each other.
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

// d: the first message on every link: the receiver's identity and its slice.
struct Start {
  std::uint16_t version = kProtocolVersion;
  std::string job_id;
  // The slice of the host list; the receiver runs on host slice.first.
  Slice slice;
  std::uint32_t nodes = 0;  // number of nodes in the whole host list
  // The most children that the receiver starts, unless some fail or are slow.
  std::uint32_t degree = 0;
  // Bytes of output that the receiver may send before it gets a Credit.
  std::uint32_t output_window = 0;
  // The parent's monotonic clock when it sent this, in nanoseconds.
  std::uint64_t clock_ns = 0;
  // Milliseconds from SIGTERM to SIGKILL, if the link ends before the job is known.
  std::uint32_t grace_ms = 0;
  // For the shell, lines of key=value (nla/io/shell_settings.h). The core does not read it.
  std::string settings;
  // The node of the sender; UINT32_MAX: scela-run itself.
  std::uint32_t parent = UINT32_MAX;
  // Milliseconds that an agent without a parent waits for an adopter; 0: it does not wait.
  std::uint32_t adopt_ms = 0;
  friend bool operator==(const Start&, const Start&) = default;
};
// d: the contacts of the slice's hosts in order, each with a newline. A contact says how a host is
// reached (contact.h). If there are fewer than Start says, the slice ends there.
struct SliceHosts {
  bool last = false;
  Chunk names;
  friend bool operator==(const SliceHosts&, const SliceHosts&) = default;
};
// d: encode(Job) of job.h in pieces. With the last piece the receiver starts its ranks.
struct JobBytes {
  bool last = false;
  Chunk bytes;
  friend bool operator==(const JobBytes&, const JobBytes&) = default;
};
// d: deliver the signal to every rank.
struct Signal {
  std::int32_t signo = 0;
  friend bool operator==(const Signal&, const Signal&) = default;
};
// d: PROCESS_TERMINATE: send signo to every rank, and SIGKILL after the grace. If `grace_ms` is 0,
// send SIGKILL at once.
struct Terminate {
  std::int32_t signo = 15;
  std::uint32_t grace_ms = 0;
  friend bool operator==(const Terminate&, const Terminate&) = default;
};
// d: every rank has its verdict, or none is waited for: end what is left, report, leave.
struct Shutdown {
  friend bool operator==(const Shutdown&, const Shutdown&) = default;
};
// d: a piece of the result of a collective operation. A piece without records that is not the last
// one is a probe: the receiver opens the operation, because it would not hear of it otherwise.
// Records are the contributions of members (nla/core/kvs/records.h); those of a fence are pairs.
struct CollectiveDown {
  CollectiveId id;
  CollectiveKind kind = CollectiveKind::barrier;
  // The root of the operation; 0 if its kind has none.
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
// d: answers a Get of the receiver. u: answers a Get that came down (policy dht).
struct Answer {
  std::string key;
  // As in the Get that this answers.
  bool wait = false;
  bool found = false;  // if not, `value` is empty
  bool lost = false;   // the key's owner was lost (policy dht)
  Chunk value;
  friend bool operator==(const Answer&, const Answer&) = default;
};
// d: input for the targets, the ranks of Job::stdin_ranks. `end`: the input has ended.
struct Stdin {
  bool end = false;
  Chunk bytes;
  friend bool operator==(const Stdin&, const Stdin&) = default;
};
// d: the receiver may send this many more bytes of Output.
struct Credit {
  std::uint64_t bytes = 0;
  // The bytes that this child has sent on this link and that have come to the root, in all. The
  // child need not keep them for another parent.
  std::uint64_t past = 0;
  friend bool operator==(const Credit&, const Credit&) = default;
};

// u: the first message of an agent, its answer to Start.
struct Hello {
  std::uint16_t version = kProtocolVersion;
  std::uint32_t node = 0;
  // Start::clock_ns of the parent, and the sender's own monotonic clock.
  std::uint64_t parent_clock_ns = 0;
  std::uint64_t clock_ns = 0;
  // Topology::bytes() of its machine, if the settings ask for it.
  std::string topology = {};
  // The place where ranks can meet on its node (nla/core/job/meeting_ports.h), if the settings ask
  // for it.
  std::string rendezvous = {};
  friend bool operator==(const Hello&, const Hello&) = default;
};
// NodeFailed::why begins so if the agent ended only because the agent above it was lost. The node
// itself may be in good health.
inline constexpr std::string_view kParentLost = "its parent agent on ";
// u: a node of the subtree has no agent, or has none any more. `why` is the reason, to print.
struct NodeFailed {
  std::uint32_t node = 0;
  StartPhase phase = StartPhase::connect;
  std::string why;
  friend bool operator==(const NodeFailed&, const NodeFailed&) = default;
};
// u: every node of the subtree has its agent or was reported with NodeFailed. `agents` counts those
// that have one.
struct Ready {
  std::uint32_t agents = 0;
  // The topologies of the nodes below the sender; its own is in its Hello.
  TopologyList topologies = {};
  // The rendezvous points of the nodes below the sender that sent one, likewise.
  TopologyList rendezvous = {};
  friend bool operator==(const Ready&, const Ready&) = default;
};
// u: every rank of the subtree that the job began with was started or has its verdict.
struct Launched {
  std::uint32_t ranks = 0;  // ranks that were started
  friend bool operator==(const Launched&, const Launched&) = default;
};
// u: PROCESS_FAIL: a rank of the subtree failed. It is sent at once; the verdict follows in
// Verdicts all the same.
struct ProcessFail {
  Rank rank = 0;
  Outcome outcome;
  friend bool operator==(const ProcessFail&, const ProcessFail&) = default;
};
// u: verdicts of ranks of the subtree, as sets of ranks with the same outcome. They are sent when
// the first rank has ended and when all have.
struct Verdicts {
  std::vector<std::pair<Outcome, RankSet>> groups;
  friend bool operator==(const Verdicts&, const Verdicts&) = default;
};
// u: the last message of an agent: nothing of the job is left on the nodes of the subtree.
struct Done {
  Stats stats;
  friend bool operator==(const Done&, const Done&) = default;
};
// u: a piece of the subtree's contributions to a collective operation. The members are as in
// CollectiveDown.
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
// Answer follows.
struct Get {
  std::string key;
  // If true and no pair has the key, the answer comes once there is one. If false, it comes at
  // once, found or not.
  bool wait = false;
  friend bool operator==(const Get&, const Get&) = default;
};
// u: a pair that travels at once (policy hcs)
struct Put {
  std::string key;
  Chunk value;
  friend bool operator==(const Put&, const Put&) = default;
};
// u: bytes that a rank of the subtree wrote. `end`: nothing more will come from this stream.
struct Output {
  Rank rank = 0;
  Stream stream = Stream::out;
  bool end = false;
  Chunk bytes;
  friend bool operator==(const Output&, const Output&) = default;
};
// u: how much of standard input the targets in the subtree have taken.
struct StdinTaken {
  // The bytes of standard input that all targets of the subtree have taken, in all.
  std::uint64_t bytes = 0;
  // No target takes any more: nothing needs to be sent from now on.
  bool last = false;
  friend bool operator==(const StdinTaken&, const StdinTaken&) = default;
};
// u: a log record for the user. `node` is the node that it comes from.
struct Log {
  LogRecord record;
  std::uint32_t node = 0;  // the node that says it
  friend bool operator==(const Log&, const Log&) = default;
};
// u: an agent's trace (--trace) in pieces. The core does not read the bytes.
struct Report {
  std::uint32_t node = 0;
  bool last = false;
  Chunk bytes;
  friend bool operator==(const Report&, const Report&) = default;
};

// Both ways: a message from rank to rank (NLA_Send). Agents pass it on towards the node of the
// destination. Large payloads travel in pieces.
struct RoutedMessage {
  Rank source = 0;
  Rank destination = 0;
  std::uint32_t tag = 0;
  std::uint64_t total = 0;   // bytes of the whole message
  std::uint64_t offset = 0;  // offset of this piece
  Chunk bytes;
  friend bool operator==(const RoutedMessage&, const RoutedMessage&) = default;
};

// u: this agent may not start these nodes of its slice; the root is to start them
// (Contact::root_only).
struct HandBack {
  Slice slice;
  friend bool operator==(const HandBack&, const HandBack&) = default;
};

// d: these ranks failed and the job goes on without them (OnFailure::wait of job.h).
struct PeersFailed {
  RankSet ranks;
  friend bool operator==(const PeersFailed&, const PeersFailed&) = default;
};

// How much of one stream of a rank has come to an adopter. The orphan sends on from there.
struct Seen {
  Rank rank = 0;
  Stream stream = Stream::out;
  std::uint64_t bytes = 0;
  bool end = false;
  friend bool operator==(const Seen&, const Seen&) = default;
};
// d: the first messages on the link from an adopter to an orphan; `last` marks the last of them.
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
// The input is that of the job.
struct Orphan {
  // The sender's real slice: the rest of what Adopt said is not below it.
  Slice slice;
  std::uint32_t agents = 0;  // agents in its subtree
  // Bytes of input that the sender has received.
  std::uint64_t input_received = 0;
  // As StdinTaken::bytes and StdinTaken::last.
  std::uint64_t input_taken = 0;
  bool input_last = false;
  bool input_end = false;    // the end of the input was received
  std::uint32_t worlds = 0;  // number of worlds that it knows
  friend bool operator==(const Orphan&, const Orphan&) = default;
};
// u: the slices of the sender's children: the agents that the receiver adopts if the sender is
// lost.
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
// d: the present size of the user's terminal, for the rank of Job::terminal_ranks.
struct Resize {
  WindowSize size;
  friend bool operator==(const Resize&, const Resize&) = default;
};
// u: a rank asks about a name. The root answers with NameAnswer.
struct NameAsked {
  Rank rank = 0;
  std::uint64_t id = 0;  // id of the rank's request
  NameAct act = NameAct::lookup;
  std::string name;
  // The port to publish; empty otherwise.
  std::string port;
  NameRange range = NameRange::job;
  friend bool operator==(const NameAsked&, const NameAsked&) = default;
};
// d: answers the NameAsked of the same rank and id.
struct NameAnswer {
  Rank rank = 0;
  std::uint64_t id = 0;
  bool ok = true;
  std::string text;  // the port, or the error if not ok
  friend bool operator==(const NameAnswer&, const NameAnswer&) = default;
};

// d: pairs on their way to owners in the subtree (policy dht). They are encoded as in a fence
// (cache::append_pair()).
struct Pairs {
  Chunk pairs;
  friend bool operator==(const Pairs&, const Pairs&) = default;
};
// u: a rank asks for more ranks. The root answers with SpawnAnswer.
struct SpawnAsked {
  Rank rank = 0;
  std::uint64_t id = 0;  // id of the rank's request
  SpawnRequest request;
  friend bool operator==(const SpawnAsked&, const SpawnAsked&) = default;
};
// d: answers the SpawnAsked of the same rank and id.
struct SpawnAnswer {
  Rank rank = 0;
  std::uint64_t id = 0;
  bool ok = true;
  std::string text;  // the new world's name, or the error
  // If not ok: 0 (started) or 1 for every rank, separated by commas; empty for very many ranks.
  std::string codes;
  friend bool operator==(const SpawnAnswer&, const SpawnAnswer&) = default;
};
// d: encode(World) of job.h in pieces. With the last piece the receiver starts its ranks.
struct WorldBytes {
  bool last = false;
  Chunk bytes;
  friend bool operator==(const WorldBytes&, const WorldBytes&) = default;
};
// u: every rank of the world in the subtree was started or will not be.
struct WorldLaunched {
  // Its number, from 1 on.
  std::uint32_t world = 0;
  RankSet started;
  // If a rank was not started: the errno of the first one, and the reason, to print. Otherwise 0.
  std::int32_t error = 0;
  std::string why;
  friend bool operator==(const WorldLaunched&, const WorldLaunched&) = default;
};
// d: kill these ranks. Their end is no failure.
struct EndRanks {
  RankSet ranks;
  friend bool operator==(const EndRanks&, const EndRanks&) = default;
};
// d: tell scela-run about the ranks of the receiver and of all below it (inspection.h). Each agent
// answers with Inspected.
struct Inspect {
  Inspection what = Inspection::processes;
  std::uint32_t limit_ms = 0;      // time for the look at the ranks of a node, in milliseconds
  std::vector<std::string> words;  // of Inspection::tool
  friend bool operator==(const Inspect&, const Inspect&) = default;
};
// d: a resource manager says that this node of the receiver's subtree is lost. The parent of its
// agent takes it as lost, and the agent, if it gets this, ends itself.
struct NodeDown {
  std::uint32_t node = 0;
  std::string why;  // to print
  friend bool operator==(const NodeDown&, const NodeDown&) = default;
};
// u: a piece of the answer of a node to the last Inspect.
struct Inspected {
  std::uint32_t node = 0;  // the node that answers
  bool last = false;
  Chunk bytes;
  friend bool operator==(const Inspected&, const Inspected&) = default;
};

}  // namespace msg

// The kinds of messages. The position of a kind plus one is its number on the wire.
using MessageKinds = std::variant<
    msg::Start, msg::SliceHosts, msg::JobBytes, msg::Signal, msg::Terminate, msg::Shutdown,
    msg::CollectiveDown, msg::Answer, msg::Stdin, msg::Credit, msg::Hello, msg::NodeFailed,
    msg::Ready, msg::Launched, msg::ProcessFail, msg::Verdicts, msg::Done, msg::CollectiveUp,
    msg::Get, msg::Put, msg::Output, msg::StdinTaken, msg::Log, msg::Report, msg::RoutedMessage,
    msg::PeersFailed, msg::HandBack, msg::Adopt, msg::Orphan, msg::Below, msg::CutOff, msg::Resize,
    msg::NameAsked, msg::NameAnswer, msg::Pairs, msg::SpawnAsked, msg::SpawnAnswer, msg::WorldBytes,
    msg::WorldLaunched, msg::EndRanks, msg::NodesLost, msg::Inspect, msg::Inspected, msg::NodeDown>;

// One message of the protocol. Copying, moving and destroying it is compiled in agent_messages.cpp
// alone: with this many kinds it would be most of the compilation of every file that passes one on.
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

// Returns the name of the message's kind, for logs and errors.
std::string_view name_of(const Message& message);

// A message ready for a link. `head` is the frame header and the fields. `tail` is the bytes of the
// Chunk, if the message ends in one; they are shared, not copied.
struct Encoded {
  std::string head;
  Chunk tail;
  std::size_t size() const { return head.size() + tail.size(); }
};
// Returns the message as one frame. The bytes of its Chunk are not copied.
Encoded encode(const Message& message);

// Decodes a frame. If the message ends in a Chunk, the Chunk takes over the frame's payload without
// a copy. Returns a protocol error if the kind is unknown or the payload is short, overlong or
// impossible.
Result<Message> decode(Frame frame);

}  // namespace scela::nla
