// What an agent and its node's PMIx server (scela-pmix) say to each other, and the bytes it takes.
//
//   stream  := { message }
//   message := { piece } last              (frames, common/core/frame.h)
//   piece   := kind kPieceKind: bytes of the next message's body
//   last    := kind: the message's position in the variant plus one; the rest of the body
//
// A body holds the fields in the order written here (integers as varints, signed ones fixed, flags
// and statuses one byte, strings and lists with a varint count). Only a body larger than a frame
// travels in pieces. Reading is strict and bounded: what does not fit its grammar ends the stream.
//
// Ranks have the numbers that they have in the job. Each world of it (nla/core/job.h) is what PMIx
// calls a namespace, where ranks count from 0: the server translates. Both ends run on one machine
// and are built together, so there is no version here.
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
#include "common/core/rank_map.h"
#include "common/core/rank_set.h"
#include "common/core/result.h"
#include "pmix/core/process.h"

namespace scela::pmix {

// The descriptor by which the server talks to its agent.
inline constexpr int kAgentDescriptor = 3;
inline constexpr std::uint8_t kPieceKind = 255;
// What all ranks of a job give in one fence is one message. Smaller: very large jobs cannot fence;
// larger: a server gone wrong could take the agent's memory.
inline constexpr std::size_t kMaxBody = std::size_t{512} * 1024 * 1024;

// How a question was answered; the server turns it into one of PMIx's statuses.
enum class Status : std::uint8_t {
  ok,
  failed,         // another process that takes part is gone, or the agent says no
  not_found,      // a name, or the data of a process
  exists,         // a name that is published already
  not_supported,  // by this launcher
  too_large,
  not_spawned,  // the ranks that were asked for
  timed_out,    // what was awaited, for as long as was asked for
};

// Whom a published value is for, or whose a look-up wants: the ranks of the job, of the same
// namespace, of the same node, or the rank itself.
enum class Range : std::uint8_t { job, space, node, rank };
// How long a published value stays: with the job, until it is read, with its rank.
enum class Keep : std::uint8_t { job, first_read, rank };

using Id = std::uint64_t;  // of a question, chosen by who asks; unique per direction

namespace msg {

// To the server, once and first: whom it is to serve. The worlds of the job follow.
struct Setup {
  std::string job;             // its identifier
  std::string directory;       // its own, private to this user, below the node's; exists
  std::string rank_directory;  // where ranks may keep what they need for the job; exists
  std::uint32_t node = 0;
  std::vector<std::string> hosts;  // names of all nodes so far, by number
  friend bool operator==(const Setup&, const Setup&) = default;
};
// To the server: an answer to what it asked.
struct Answer {
  Id id = 0;
  Status status = Status::ok;
  std::string blob;
  friend bool operator==(const Answer&, const Answer&) = default;
};
// To the server: what has this rank of this node put? It answers when the rank has committed.
struct DataAsked {
  Id id = 0;
  Rank rank = 0;
  std::string key;  // that must be there before the answer; empty: whatever the rank has put first
  friend bool operator==(const DataAsked&, const DataAsked&) = default;
};

// To the server: nobody waits for that any more.
struct DataNoMore {
  Id id = 0;  // of DataAsked
  friend bool operator==(const DataNoMore&, const DataNoMore&) = default;
};

// From the server, in answer to each World: one of these for each of its ranks on the node, then
// Ready.
struct Environment {
  Rank rank = 0;
  std::vector<std::string> variables;  // "K=V"
  friend bool operator==(const Environment&, const Environment&) = default;
};
struct Ready {
  friend bool operator==(const Ready&, const Ready&) = default;
};
// From the server, instead of Ready, last: it cannot serve, and why.
struct Failed {
  std::string why;
  friend bool operator==(const Failed&, const Failed&) = default;
};
// From the server. What has an id is answered by an Answer with it.
struct Connected {  // the rank has called PMIx_Init
  Rank rank = 0;
  friend bool operator==(const Connected&, const Connected&) = default;
};
struct Finalized {  // and PMIx_Finalize, which returns when this is answered
  Id id = 0;
  Rank rank = 0;
  friend bool operator==(const Finalized&, const Finalized&) = default;
};
struct Abort {
  Id id = 0;
  Rank rank = 0;
  std::int32_t status = 0;
  std::string message;
  friend bool operator==(const Abort&, const Abort&) = default;
};
// All ranks of this node that are among `ranks` have come here. The blob of the answer is that of
// all nodes, one after the other; before it, if the fence has a name, a number of eight bytes that
// no other fence of the job is given.
struct Fence {
  Id id = 0;
  RankSet ranks;
  std::string blob;
  std::string name = {};  // fences of the same ranks with different names are apart
  friend bool operator==(const Fence&, const Fence&) = default;
};
// What has this rank of another node put?
struct DataWanted {
  Id id = 0;
  Rank rank = 0;
  std::string key;  // as of DataAsked
  friend bool operator==(const DataWanted&, const DataWanted&) = default;
};
struct Data {  // in answer to DataAsked
  Id id = 0;
  Status status = Status::ok;
  std::string blob;
  friend bool operator==(const Data&, const Data&) = default;
};
struct Publish {
  Id id = 0;
  Rank rank = 0;
  std::string name;
  Keep keep = Keep::job;
  std::string blob;
  Range range = Range::job;
  friend bool operator==(const Publish&, const Publish&) = default;
};
struct Lookup {
  Id id = 0;
  Rank rank = 0;
  std::string name;
  bool wait = false;  // until it is published
  Range range = Range::job;
  friend bool operator==(const Lookup&, const Lookup&) = default;
};
struct Unpublish {
  Id id = 0;
  Rank rank = 0;
  std::string name;
  Range range = Range::job;
  friend bool operator==(const Unpublish&, const Unpublish&) = default;
};
// A look-up with this id need not wait any more: it is answered now, with `timed_out` if not with
// what it has waited for.
struct GiveUp {
  Id id = 0;
  friend bool operator==(const GiveUp&, const GiveUp&) = default;
};
// What has become of the ranks? The blob of the answer is an encode_processes(): of all that could
// be asked; those of a node that is gone are missing.
struct TableWanted {
  Id id = 0;
  bool here = false;  // of this node only
  RankSet ranks{};    // no others matter, so only their nodes are asked; none: all
  friend bool operator==(const TableWanted&, const TableWanted&) = default;
};
// An event for the servers of other nodes, packed by libpmix. Not answered: libpmix 4.2 frees what
// an answer would need.
struct Notify {
  RankSet targets;  // whose servers; empty: all
  std::string blob;
  friend bool operator==(const Notify&, const Notify&) = default;
};
// A signal to the processes of these ranks, wherever; answered when it is on its way.
struct Control {
  Id id = 0;
  RankSet ranks;
  std::int32_t signo = 0;
  friend bool operator==(const Control&, const Control&) = default;
};
// Text that a rank of this node wants among its output.
struct Log {
  Id id = 0;
  Rank rank = 0;
  bool error = false;  // its standard error
  std::string text;
  friend bool operator==(const Log&, const Log&) = default;
};
// What these ranks write, wherever, is wanted from now on, besides what was.
struct Pull {
  RankSet ranks;
  bool out = false;
  bool err = false;
  friend bool operator==(const Pull&, const Pull&) = default;
};
struct PullNoMore {  // of nobody
  friend bool operator==(const PullNoMore&, const PullNoMore&) = default;
};
// To the server: what a rank has written, after so many bytes that are left out.
struct Copy {
  Rank rank = 0;
  bool error = false;  // its standard error
  std::uint64_t left_out = 0;
  std::string bytes;
  friend bool operator==(const Copy&, const Copy&) = default;
};
// From the server: so much of what the rank has written was passed on.
struct Taken {
  Rank rank = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Taken&, const Taken&) = default;
};
// To the server: an event of another node, as its server has packed it.
struct Event {
  std::string blob;
  friend bool operator==(const Event&, const Event&) = default;
};
// To the server: ranks that have failed, wherever, and the job goes on without.
struct RanksFailed {
  RankSet ranks;
  friend bool operator==(const RanksFailed&, const RanksFailed&) = default;
};
// To the server: a world of the job, before any of its ranks starts here; also where it has none.
// The first one is that which the job began with.
struct World {
  std::string nspace;
  Rank first = 0;                   // its ranks: [first, first + those of the map)
  std::optional<Rank> parent;       // who has asked for it
  std::uint32_t universe = 0;       // slots of the job's hosts; 0: no bound
  std::vector<RankMap::Block> map;  // of rank - first
  std::uint32_t neighbours = 0;     // ranks of earlier worlds on this node
  std::vector<std::string> hosts;   // names of all nodes, by number, if there are more than before
  struct Program {
    RankSet ranks;
    std::string words;  // the command line, for those who read it
    std::string directory;
    friend bool operator==(const Program&, const Program&) = default;
  };
  std::vector<Program> programs;  // by number; their ranks partition those of the world
  friend bool operator==(const World&, const World&) = default;
};
// From the server: a rank wants more ranks. The answer's blob is the namespace that they have.
struct Spawn {
  Id id = 0;
  Rank rank = 0;
  struct Program {
    std::vector<std::string> argv;  // at least the program
    std::vector<std::string> env;   // "K=V", beside what the asker's program has
    std::uint32_t ranks = 0;
    std::string directory;  // these three may be empty
    std::string hosts;
    std::string path;
    friend bool operator==(const Program&, const Program&) = default;
  };
  std::vector<Program> programs;
  friend bool operator==(const Spawn&, const Spawn&) = default;
};

}  // namespace msg

using MessageKinds =
    std::variant<msg::Setup, msg::Answer, msg::DataAsked, msg::Environment, msg::Ready, msg::Failed,
                 msg::Connected, msg::Finalized, msg::Abort, msg::Fence, msg::DataWanted, msg::Data,
                 msg::Publish, msg::Lookup, msg::Unpublish, msg::TableWanted, msg::Notify,
                 msg::Control, msg::Log, msg::Event, msg::RanksFailed, msg::World, msg::Spawn,
                 msg::GiveUp, msg::Pull, msg::PullNoMore, msg::Copy, msg::Taken, msg::DataNoMore>;

// One message between an agent and its PMIx server. Copying, moving and destroying one is compiled
// in one file: with this many kinds it would be most of the compilation of every file that passes
// one on.
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

// The message with its pieces, ready for the stream. Requires a body of at most kMaxBody.
std::string encode(const Message& message);

// The inverse: is fed whatever the stream delivers, and yields whole messages.
class Decoder {
 public:
  void feed(std::string_view bytes) { frames_.feed(bytes); }
  // The next whole message, or nothing when more bytes are needed. An error is final.
  Result<std::optional<Message>> next();

 private:
  FrameDecoder frames_;
  std::string body_;  // the pieces of it that have come
};

}  // namespace scela::pmix
