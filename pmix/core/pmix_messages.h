// The messages between an agent and its node's PMIx server (scela-pmix), and their encoding. Both
// processes use this file.
//
//   stream  := { message }
//   message := { piece } last              (frames, common/core/frame.h)
//   piece   := kind kPieceKind: bytes of the next message's body
//   last    := kind: the message's position in the variant plus one; the rest of the body
//
// A body holds the fields of the message in the order of their declaration. Unsigned integers are
// varints, signed ones have a fixed size. A flag or a status takes one byte. Strings and lists
// begin with a varint count. Only a body larger than a frame travels in pieces. Reading is strict
// and bounded: a message that breaks the grammar ends the stream.
//
// Ranks have their numbers in the job. Each world of the job (nla/core/wire/job.h) is a namespace
// of PMIx, in which ranks count from 0; the server translates. Both ends run on one machine and are
// built together, so the protocol has no version.
//
// Values. A Decoder is for one thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/frame.h"
#include "common/core/placement/rank_map.h"
#include "common/core/rank_set.h"
#include "common/core/requests/rank_request.h"
#include "common/core/result.h"
#include "pmix/core/process.h"

namespace scela::pmix {

// The descriptor of the server's connection to its agent.
inline constexpr int kAgentDescriptor = 3;
// The kind of a frame with a piece of the next message.
inline constexpr std::uint8_t kPieceKind = 255;
// In bytes. The data that all ranks of a job give in one fence travels as one message. With a
// smaller bound very large jobs could not fence; with a larger one a faulty server could use up the
// agent's memory.
inline constexpr std::size_t kMaxBody = std::size_t{512} * 1024 * 1024;

// The outcome of a question; the server turns it into a status of PMIx.
enum class Status : std::uint8_t {
  ok,
  failed,         // a participant is gone, or a refusal
  not_found,      // no such name or data of a process
  exists,         // the name is published already
  not_supported,  // this launcher does not support it
  too_large,      // a value or a fence exceeds its bound
  not_spawned,    // the requested ranks could not start
  timed_out,      // the requested time limit has passed
};

// The ranks that a published value is for, or that a look-up accepts as publishers: the ranks of
// the job, of the same namespace, of the same node, or the rank itself.
enum class Range : std::uint8_t { job, space, node, rank };
// The time for which a published value stays: as long as the job, until it is read, or as long as
// its rank.
enum class Keep : std::uint8_t { job, first_read, rank };

// The number of a question. The process that asks chooses it; it is unique among its questions.
using Id = std::uint64_t;

namespace msg {

// To the server, once and first: the job and the node to serve. The worlds of the job follow. Both
// directories exist; the server's own lies below the node's.
struct Setup {
  std::string job;             // the job's identifier
  std::string directory;       // the server's own, private to this user
  std::string rank_directory;  // for files of ranks during the job
  std::uint32_t node = 0;
  std::vector<std::string> hosts;  // all nodes so far, by number
  friend bool operator==(const Setup&, const Setup&) = default;
};
// To the server: the answer to one of its questions.
struct Answer {
  Id id = 0;
  Status status = Status::ok;
  std::string blob;  // its content depends on the question
  friend bool operator==(const Answer&, const Answer&) = default;
};
// To the server: a request for the data that this rank of this node has put. The server answers by
// Data when the rank has committed. If a key is given, the server answers only when that key is
// there.
struct DataAsked {
  Id id = 0;
  Rank rank = 0;
  std::string key;  // empty: the rank's first commit suffices
  friend bool operator==(const DataAsked&, const DataAsked&) = default;
};

// To the server: the data is no longer needed.
struct DataNoMore {
  Id id = 0;  // the id of the DataAsked
  friend bool operator==(const DataNoMore&, const DataNoMore&) = default;
};

// From the server, in answer to each World: one Environment for each of the world's ranks on the
// node, then Ready. It has the variables with which the agent must start the rank.
struct Environment {
  Rank rank = 0;
  std::vector<std::string> variables;  // "K=V"
  friend bool operator==(const Environment&, const Environment&) = default;
};
// The server is ready for the ranks of the world.
struct Ready {
  friend bool operator==(const Ready&, const Ready&) = default;
};
// From the server, instead of Ready, as its last message: the reason why it cannot serve.
struct Failed {
  std::string why;
  friend bool operator==(const Failed&, const Failed&) = default;
};
// The following messages come from the server unless said otherwise. The agent answers a question
// with an id by an Answer with that id. The rank has called PMIx_Init.
struct Connected {
  Rank rank = 0;
  friend bool operator==(const Connected&, const Connected&) = default;
};
// The rank has called PMIx_Finalize, which returns when the agent has answered this.
struct Finalized {
  Id id = 0;
  Rank rank = 0;
  friend bool operator==(const Finalized&, const Finalized&) = default;
};
// A rank asks for the end of the job. `status` becomes the exit status, and `message` is shown.
struct Abort {
  Id id = 0;
  Rank rank = 0;
  std::int32_t status = 0;
  std::string message;
  friend bool operator==(const Abort&, const Abort&) = default;
};
// All ranks of this node that are among `ranks` have entered the fence; `blob` is the data that
// they give. The answer's blob holds the blobs of all nodes, one after the other. If the fence has
// a name, a number of eight bytes precedes them, which no other fence of the job gets.
struct Fence {
  Id id = 0;
  RankSet ranks;
  std::string blob;
  std::string name = {};  // tells fences of equal ranks apart
  friend bool operator==(const Fence&, const Fence&) = default;
};
// A request for the data that this rank of another node has put.
struct DataWanted {
  Id id = 0;
  Rank rank = 0;
  std::string key;  // as in DataAsked
  friend bool operator==(const DataWanted&, const DataWanted&) = default;
};
// The answer to DataAsked.
struct Data {
  Id id = 0;
  Status status = Status::ok;
  std::string blob;
  friend bool operator==(const Data&, const Data&) = default;
};
// A rank publishes bytes under a name. The answer has no blob.
struct Publish {
  Id id = 0;
  Rank rank = 0;
  std::string name;
  Keep keep = Keep::job;
  std::string blob;
  Range range = Range::job;
  friend bool operator==(const Publish&, const Publish&) = default;
};
// A rank asks for a published value. The blob of the answer is the value.
struct Lookup {
  Id id = 0;
  Rank rank = 0;
  std::string name;
  bool wait = false;  // wait until the name is published
  Range range = Range::job;
  friend bool operator==(const Lookup&, const Lookup&) = default;
};
// A rank withdraws a name that it has published in this range.
struct Unpublish {
  Id id = 0;
  Rank rank = 0;
  std::string name;
  Range range = Range::job;
  friend bool operator==(const Unpublish&, const Unpublish&) = default;
};
// The question with this id need not wait any longer. The agent answers it now, with `timed_out` if
// the awaited value is still not there.
struct GiveUp {
  Id id = 0;
  friend bool operator==(const GiveUp&, const GiveUp&) = default;
};
// A request for the states of the ranks' processes. The answer's blob is the result of
// encode_processes(). The processes of a node that is gone are missing.
struct TableWanted {
  Id id = 0;
  bool here = false;  // only processes of this node
  RankSet ranks{};    // asks only their nodes; empty: all nodes
  friend bool operator==(const TableWanted&, const TableWanted&) = default;
};
// An event for the servers of other nodes, packed by libpmix. The agent does not answer it, because
// libpmix 4.2 frees the memory that an answer would need.
struct Notify {
  RankSet targets;  // goes to their servers; empty: to all
  std::string blob;
  friend bool operator==(const Notify&, const Notify&) = default;
};
// A signal to the processes of these ranks, on any node. The agent answers when the signal is on
// its way.
struct Control {
  Id id = 0;
  RankSet ranks;
  std::int32_t signo = 0;
  friend bool operator==(const Control&, const Control&) = default;
};
// Text that a rank of this node adds to its output.
struct Log {
  Id id = 0;
  Rank rank = 0;
  bool error = false;  // standard error, else standard output
  std::string text;
  friend bool operator==(const Log&, const Log&) = default;
};
// The server wants copies of the output of these ranks, on any node, from now on. Earlier requests
// stay in force.
struct Pull {
  RankSet ranks;
  bool out = false;
  bool err = false;
  friend bool operator==(const Pull&, const Pull&) = default;
};
// The server wants no copies any more.
struct PullNoMore {
  friend bool operator==(const PullNoMore&, const PullNoMore&) = default;
};
// To the server: a copy of output of a rank. Before it `left_out` bytes were left out.
struct Copy {
  Rank rank = 0;
  bool error = false;  // standard error, else standard output
  std::uint64_t left_out = 0;
  std::string bytes;
  friend bool operator==(const Copy&, const Copy&) = default;
};
// From the server: this number of bytes of the rank's output was passed on.
struct Taken {
  Rank rank = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Taken&, const Taken&) = default;
};
// To the server: an event of another node, as that node's server has packed it.
struct Event {
  std::string blob;
  friend bool operator==(const Event&, const Event&) = default;
};
// To the server: ranks of any node that have failed, while the job goes on without them.
struct RanksFailed {
  RankSet ranks;
  friend bool operator==(const RanksFailed&, const RanksFailed&) = default;
};
// To the server: a world of the job, before any of its ranks starts on this node. Servers of nodes
// without ranks of it get it, too. The first world is the one with which the job began. Its ranks
// are [first, first + size of the map).
struct World {
  std::string nspace;
  Rank first = 0;                   // its first rank, by the job's numbers
  std::optional<Rank> parent;       // the rank that spawned it
  std::uint32_t universe = 0;       // slots of the job's hosts; 0: no bound
  std::vector<RankMap::Block> map;  // maps rank - first to nodes
  std::uint32_t neighbours = 0;     // ranks of earlier worlds on this node
  std::vector<std::string> hosts;   // all nodes by number, if new ones came
  // A program of the world and the ranks that run it.
  struct Program {
    RankSet ranks;
    std::string words;  // the command line, for display
    std::string directory;
    friend bool operator==(const Program&, const Program&) = default;
  };
  std::vector<Program> programs;  // each rank is in exactly one
  ask::Stops stops = {};          // ranks that are stopped for a debugger
  friend bool operator==(const World&, const World&) = default;
};
// From the server: a rank spawns more ranks. The answer's blob is the namespace of the new ranks.
struct Spawn {
  Id id = 0;
  Rank rank = 0;
  // A program to start and the number of its ranks.
  struct Program {
    std::vector<std::string> argv;  // at least the program
    std::vector<std::string> env;   // "K=V", added to the asker's
    std::uint32_t ranks = 0;
    std::string directory;  // these three may be empty
    std::string hosts;
    std::string path;
    friend bool operator==(const Program&, const Program&) = default;
  };
  std::vector<Program> programs;
  ask::Stops stops = {};  // ranks that are stopped for a debugger
  friend bool operator==(const Spawn&, const Spawn&) = default;
};
// To the server: this rank of this node is stopped before the first instruction of its program.
struct Stopped {
  Rank rank = 0;
  friend bool operator==(const Stopped&, const Stopped&) = default;
};
// From the server: a debugger lets these ranks of this node go, which are, or are to be, stopped
// before the first instruction of their program.
struct Release {
  RankSet ranks;
  friend bool operator==(const Release&, const Release&) = default;
};

}  // namespace msg

// The position of a message here plus one is its kind on the wire.
using MessageKinds =
    std::variant<msg::Setup, msg::Answer, msg::DataAsked, msg::Environment, msg::Ready, msg::Failed,
                 msg::Connected, msg::Finalized, msg::Abort, msg::Fence, msg::DataWanted, msg::Data,
                 msg::Publish, msg::Lookup, msg::Unpublish, msg::TableWanted, msg::Notify,
                 msg::Control, msg::Log, msg::Event, msg::RanksFailed, msg::World, msg::Spawn,
                 msg::GiveUp, msg::Pull, msg::PullNoMore, msg::Copy, msg::Taken, msg::DataNoMore,
                 msg::Stopped, msg::Release>;

// One message between an agent and its PMIx server. Its copy, move and destructor are compiled in
// one file. With this many kinds they would dominate the compilation of every file that passes a
// message on.
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

// Returns the message with its pieces, ready for the stream. The body must not exceed kMaxBody.
std::string encode(const Message& message);

// The inverse of encode(): the caller feeds it the bytes of the stream, and it returns messages.
class Decoder {
 public:
  // Adds bytes of the stream, in pieces of any size.
  void feed(std::string_view bytes) { frames_.feed(bytes); }
  // Returns the next complete message, or std::nullopt if more bytes are needed. An error
  // (protocol) is final.
  Result<std::optional<Message>> next();

 private:
  FrameDecoder frames_;
  std::string body_;  // the pieces received so far
};

}  // namespace scela::pmix
