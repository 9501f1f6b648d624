// What agents say to each other, and the bytes it takes.
//
// A frame (common/core/frame.h) carries one message: the frame's kind is the message's position in
// the variant below plus one, its payload the fields in the order written here (integers
// little-endian or varint, strings with a varint length, rank sets as ranges), then for messages
// that end in a Chunk its bytes up to the end of the frame. Bulk data is cut into pieces of at most
// kMaxPiece bytes; every piece can be forwarded on its own. docs/protocol.md has the reasons.
//
// d: parent to child, u: child to parent.
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
#include "nla/core/outcome.h"
#include "nla/core/spawn_request.h"
#include "nla/core/topologies.h"

namespace scela::nla {

inline constexpr std::uint16_t kProtocolVersion = 1;

enum class Stream : std::uint8_t { out, err };

// Why a node has no agent. The phase decides the advice and the exit status.
enum class StartPhase : std::uint8_t {
  resolve,
  connect,
  host_key,
  authenticate,
  start_agent,
  hello,
  running
};
std::string_view name_of(StartPhase phase);

enum class CollectiveKind : std::uint8_t {
  barrier,
  fence,
  gather,
  broadcast,
  allgather,
  scatter,
  alltoall
};
std::string_view name_of(CollectiveKind kind);

// await: a look-up that is answered once the name is published; give_up: not any more, if it still
// waits. publish_once: of a name that is gone with the first look-up; publish_own: with its rank,
// which has ended when it says withdraw.
enum class NameAct : std::uint8_t {
  publish,
  lookup,
  unpublish,
  await,
  publish_once,
  publish_own,
  give_up,
  withdraw
};

// Whom a name is for, or whose a look-up wants: of all ranks those that are of the same job, of the
// same world, on the same node, or the rank itself.
enum class NameRange : std::uint8_t { job, world, node, rank };

// One collective operation: the seq-th (from 0) among the ranks of `set` that has this tag.
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
  std::uint64_t messages = 0;           // sent on links
  std::uint64_t bytes = 0;              // payload of those
  std::uint64_t max_private_bytes = 0;  // largest of any agent
  std::uint64_t max_resident_bytes = 0;
  std::uint64_t cache_bytes = 0;       // largest of any agent
  std::uint64_t root_cache_bytes = 0;  // of the root, which may hold what nobody else does
  std::uint64_t output_bytes = 0;      // read from ranks
  friend bool operator==(const Stats&, const Stats&) = default;
};

namespace msg {

struct Start {  // d: first on every link: who you are and what you look after
  std::uint16_t version = kProtocolVersion;
  std::string job_id;
  Slice slice;              // of the host list; the receiver runs on host slice.first
  std::uint32_t nodes = 0;  // in the whole host list
  std::uint32_t degree = 0;
  std::uint32_t output_window = 0;  // bytes of output the child may send before it gets credit
  std::uint64_t clock_ns = 0;       // the parent's clock when it sent this
  std::uint32_t grace_ms = 0;       // used if the link ends before the job is known
  std::string settings;             // for the shell (record file, node shares); opaque to the core
  std::uint32_t parent = UINT32_MAX;  // node of the sender; UINT32_MAX: scela-run itself
  std::uint32_t adopt_ms = 0;         // event::Begin::adopt_ms
  friend bool operator==(const Start&, const Start&) = default;
};
struct SliceHosts {  // d: names of the hosts of the slice, newline-separated, in order; fewer than
                     // Start says: the slice ends there
  bool last = false;
  Chunk names;
  friend bool operator==(const SliceHosts&, const SliceHosts&) = default;
};
struct JobBytes {  // d: encode(Job) in pieces; the last piece starts the ranks
  bool last = false;
  Chunk bytes;
  friend bool operator==(const JobBytes&, const JobBytes&) = default;
};
struct Signal {  // d: deliver to every rank
  std::int32_t signo = 0;
  friend bool operator==(const Signal&, const Signal&) = default;
};
struct Terminate {  // d: PROCESS_TERMINATE: signo to every rank, SIGKILL after the grace
  std::int32_t signo = 15;
  std::uint32_t grace_ms = 0;
  friend bool operator==(const Terminate&, const Terminate&) = default;
};
struct Shutdown {  // d: every rank has its verdict: end what is left, report, leave
  friend bool operator==(const Shutdown&, const Shutdown&) = default;
};
struct CollectiveDown {  // d: a piece of the result
  CollectiveId id;
  CollectiveKind kind = CollectiveKind::barrier;
  Rank root = 0;
  bool last = false;
  RankSet missing;  // with last: members that ended without taking part; not empty means it failed
  std::string mismatch;  // with last: the members disagreed about the operation, and how
  Chunk records;
  bool packed = false;      // the records are (nla/core/packing.h): a fence's only
  std::uint32_t clock = 0;  // with last, of a fence: the latest of its members' (cache/store.h)
  friend bool operator==(const CollectiveDown&, const CollectiveDown&) = default;
};
struct Answer {  // d: to a Get; u: to one that came down
  std::string key;
  bool wait = false;  // as in the Get
  bool found = false;
  bool lost = false;  // the node of its owner was (policy dht)
  Chunk value;
  friend bool operator==(const Answer&, const Answer&) = default;
};
struct Stdin {  // d: input for the ranks of Job::stdin_ranks
  bool end = false;
  Chunk bytes;
  friend bool operator==(const Stdin&, const Stdin&) = default;
};
struct Credit {  // d: this many more bytes of output may be sent
  std::uint64_t bytes = 0;
  // Bytes that this child has sent on this link, in all, and that have come to the root: they need
  // not be kept for another parent.
  std::uint64_t past = 0;
  friend bool operator==(const Credit&, const Credit&) = default;
};

struct Hello {  // u: the agent runs
  std::uint16_t version = kProtocolVersion;
  std::uint32_t node = 0;
  std::uint64_t parent_clock_ns = 0;  // Start::clock_ns
  std::uint64_t clock_ns = 0;         // the child's clock when it sent this
  std::string topology = {};          // of its machine, where it was asked: Topology::bytes()
  friend bool operator==(const Hello&, const Hello&) = default;
};
struct NodeFailed {  // u: a node of the subtree has no agent (any more)
  std::uint32_t node = 0;
  StartPhase phase = StartPhase::connect;
  std::string why;
  friend bool operator==(const NodeFailed&, const NodeFailed&) = default;
};
struct Ready {  // u: every node of the subtree has its agent or was reported
  std::uint32_t agents = 0;
  TopologyList topologies = {};  // of the nodes below the sender: its own is in its Hello
  friend bool operator==(const Ready&, const Ready&) = default;
};
struct Launched {           // u: every rank of the subtree was started or has its verdict
  std::uint32_t ranks = 0;  // started
  friend bool operator==(const Launched&, const Launched&) = default;
};
struct ProcessFail {  // u: PROCESS_FAIL, at once; the verdict follows in Verdicts all the same
  Rank rank = 0;
  Outcome outcome;
  friend bool operator==(const ProcessFail&, const ProcessFail&) = default;
};
struct Verdicts {  // u: verdicts of ranks of the subtree: when the first ended, and when all have
  std::vector<std::pair<Outcome, RankSet>> groups;
  friend bool operator==(const Verdicts&, const Verdicts&) = default;
};
struct Done {  // u: last: nothing of the job is left on the nodes of the subtree
  Stats stats;
  friend bool operator==(const Done&, const Done&) = default;
};
struct CollectiveUp {  // u: a piece of the contributions of the subtree
  CollectiveId id;
  CollectiveKind kind = CollectiveKind::barrier;
  Rank root = 0;
  bool last = false;  // with last: every member in the subtree has taken part or is missing
  RankSet missing;
  std::string mismatch;
  Chunk records;
  bool packed = false;
  std::uint32_t clock = 0;
  friend bool operator==(const CollectiveUp&, const CollectiveUp&) = default;
};
struct Get {  // u: who has this key? d: one of its owner's subtree is asked (policy dht)
  std::string key;
  bool wait = false;  // no answer before it exists
  friend bool operator==(const Get&, const Get&) = default;
};
struct Put {  // u: a pair that travels at once (policy hcs)
  std::string key;
  Chunk value;
  friend bool operator==(const Put&, const Put&) = default;
};
struct Output {  // u: bytes a rank wrote; end: nothing more will come from this stream
  Rank rank = 0;
  Stream stream = Stream::out;
  bool end = false;
  Chunk bytes;
  friend bool operator==(const Output&, const Output&) = default;
};
struct StdinTaken {         // u
  std::uint64_t bytes = 0;  // of standard input that all targets of the subtree have taken, in all
  bool last = false;        // none of them takes any more: nothing needs to be sent from now on
  friend bool operator==(const StdinTaken&, const StdinTaken&) = default;
};
struct Log {  // u: the root fills in the node's name
  LogRecord record;
  std::uint32_t node = 0;  // that says it
  friend bool operator==(const Log&, const Log&) = default;
};
struct Report {  // u: an agent's trace, in pieces (opaque to the core)
  std::uint32_t node = 0;
  bool last = false;
  Chunk bytes;
  friend bool operator==(const Report&, const Report&) = default;
};

struct Parcel {  // both ways: NLA_Send, routed by rank location; large payloads in pieces
  Rank source = 0;
  Rank destination = 0;
  std::uint32_t tag = 0;
  std::uint64_t total = 0;   // bytes of the whole payload
  std::uint64_t offset = 0;  // of this piece
  Chunk bytes;
  friend bool operator==(const Parcel&, const Parcel&) = default;
};

struct HandBack {  // u: these nodes of the slice this agent may not start; the root is to start
                   // them
  Slice slice;
  friend bool operator==(const HandBack&, const HandBack&) = default;
};

struct PeersFailed {  // d: these ranks failed and the job goes on without them (OnFailure::wait)
  RankSet ranks;
  friend bool operator==(const PeersFailed&, const PeersFailed&) = default;
};

// What an adopter has of one stream: the orphan goes on behind it.
struct Seen {
  Rank rank = 0;
  Stream stream = Stream::out;
  std::uint64_t bytes = 0;
  bool end = false;
  friend bool operator==(const Seen&, const Seen&) = default;
};
struct Adopt {  // d: first on the link to an agent whose parent was lost; in as many as it takes
  std::uint16_t version = kProtocolVersion;
  std::string job_id;
  std::uint32_t parent = UINT32_MAX;  // as in Start
  Slice slice;                        // of the receiver, as far as the sender knows: at most this
  std::uint32_t output_window = 0;
  std::vector<Seen> seen;
  bool last = false;
  friend bool operator==(const Adopt&, const Adopt&) = default;
};
struct Orphan {  // u: answers the last Adopt; what the lost parent may have kept to itself follows
  Slice slice;   // of the sender, really: the rest of what Adopt said is not below it
  std::uint32_t agents = 0;  // in its subtree
  std::uint64_t input_received = 0;
  std::uint64_t input_taken = 0;  // as StdinTaken
  bool input_last = false;
  bool input_end = false;    // its end was received
  std::uint32_t worlds = 0;  // that it knows of
  friend bool operator==(const Orphan&, const Orphan&) = default;
};
struct Below {  // u: the slices of the sender's children: what is to be adopted if it is lost
  std::vector<Slice> slices;
  friend bool operator==(const Below&, const Below&) = default;
};
struct CutOff {  // both ways: an agent was lost; these ranks and all others cannot exchange
                 // messages any more. Up to the root, then down to everybody
  RankSet ranks;
  bool now = false;  // from the orphan itself: what was under way to the root may be lost
  friend bool operator==(const CutOff&, const CutOff&) = default;
};
struct NodesLost {  // both ways: their agents are gone and who of their ranks had not ended was
                    // told of before. Up to the root, then down to everybody
  RankSet nodes;    // numbers of nodes, not ranks
  friend bool operator==(const NodesLost&, const NodesLost&) = default;
};
struct Resize {  // d: the size that the terminal of Job::terminal_ranks has now; the last one
                 // counts
  WindowSize size;
  friend bool operator==(const Resize&, const Resize&) = default;
};
struct NameAsked {  // u: a rank asks about a name; the root answers
  Rank rank = 0;
  std::uint64_t id = 0;  // of the rank's request
  NameAct act = NameAct::lookup;
  std::string name;
  std::string port;
  NameRange range = NameRange::job;
  friend bool operator==(const NameAsked&, const NameAsked&) = default;
};
struct NameAnswer {  // d
  Rank rank = 0;
  std::uint64_t id = 0;
  bool ok = true;
  std::string text;  // the port; the error when !ok
  friend bool operator==(const NameAnswer&, const NameAnswer&) = default;
};

struct Pairs {  // d: pairs on their way to owners in the subtree (policy dht), as in an aggregate
  Chunk pairs;
  friend bool operator==(const Pairs&, const Pairs&) = default;
};
struct SpawnAsked {  // u: a rank asks for more ranks; the root answers
  Rank rank = 0;
  std::uint64_t id = 0;  // of the rank's request
  SpawnRequest request;
  friend bool operator==(const SpawnAsked&, const SpawnAsked&) = default;
};
struct SpawnAnswer {  // d
  Rank rank = 0;
  std::uint64_t id = 0;
  bool ok = true;
  std::string text;   // the name of the new world; the error when !ok
  std::string codes;  // when !ok: of every rank, 0 or 1, with commas; empty for very many ranks
  friend bool operator==(const SpawnAnswer&, const SpawnAnswer&) = default;
};
struct WorldBytes {  // d: encode(World) in pieces; the last piece starts its ranks
  bool last = false;
  Chunk bytes;
  friend bool operator==(const WorldBytes&, const WorldBytes&) = default;
};
struct WorldLaunched {  // u: every rank of the world in the subtree was started or will not be
  std::uint32_t world = 0;
  RankSet started;
  std::int32_t error = 0;  // of one that was not: errno, and why
  std::string why;
  friend bool operator==(const WorldLaunched&, const WorldLaunched&) = default;
};
struct EndRanks {  // d: kill these; that is no failure of theirs
  RankSet ranks;
  friend bool operator==(const EndRanks&, const EndRanks&) = default;
};

}  // namespace msg

using MessageKinds =
    std::variant<msg::Start, msg::SliceHosts, msg::JobBytes, msg::Signal, msg::Terminate,
                 msg::Shutdown, msg::CollectiveDown, msg::Answer, msg::Stdin, msg::Credit,
                 msg::Hello, msg::NodeFailed, msg::Ready, msg::Launched, msg::ProcessFail,
                 msg::Verdicts, msg::Done, msg::CollectiveUp, msg::Get, msg::Put, msg::Output,
                 msg::StdinTaken, msg::Log, msg::Report, msg::Parcel, msg::PeersFailed,
                 msg::HandBack, msg::Adopt, msg::Orphan, msg::Below, msg::CutOff, msg::Resize,
                 msg::NameAsked, msg::NameAnswer, msg::Pairs, msg::SpawnAsked, msg::SpawnAnswer,
                 msg::WorldBytes, msg::WorldLaunched, msg::EndRanks, msg::NodesLost>;

// One message of the protocol. Copying, moving and destroying one is compiled in one file: with
// this many kinds it would be most of the compilation of every file that passes one on.
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

// A message ready for a link: `head` is the frame header and the fields, `tail` (possibly empty)
// the bytes after them, not copied.
struct Encoded {
  std::string head;
  Chunk tail;
  std::size_t size() const { return head.size() + tail.size(); }
};
Encoded encode(const Message& message);

// The inverse; the frame's payload is not copied where the message ends in a Chunk.
// Error (protocol): unknown kind, short or overlong payload.
Result<Message> decode(Frame frame);

}  // namespace scela::nla
