// One client's PMI-2 session as a state machine: it takes bytes and gives requests to the job and
// answers to the client. LineServer uses it, from one thread.
//
// The session follows pmodels/mpich src/pmi/maint/pmi-2.0.txt. On points that this text leaves open
// it follows Slurm's libpmi2. It begins after the line in which the client has chosen PMI-2
// (pmi/protocol/pmi1/pmi1.h). It answers requests for facts of the job by itself and hands the rest
// to the job. A request that carries a thrid of its own does not wait for others, so each thread of
// a rank can have one in flight. Requests with the same thrid, or without any, are served one after
// the other. An abort never waits.
//
//   state      enters                 accepts                  leaves to
//   start      -                      fullinit, abort          ready
//   ready      fullinit               everything but fullinit  finalized
//   finalized  finalize               abort                    -
//   over       abort, violation       nothing                  -
//
// Knows no socket, no tree, and not how the job stores pairs. A request that cannot be met is
// answered with the protocol's own error (rc, errmsg). If the client breaks the protocol (bytes
// that are no message, a command in the wrong state, too much at once), the session gives one
// Violation and reads nothing more. A session holds at most kMaxBacklog + kMaxMessage unread bytes
// and kMaxInFlight requests. It never blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmi/protocol/job_facts.h"
#include "pmi/protocol/pmi2/pmi2_wire.h"
#include "pmi/protocol/session_request.h"

namespace scela::pmi {

// The values of rc (pmi2_session.h of Slurm and MPICH).
enum class Pmi2Code : int {
  success = 0,
  invalid_argument = 3,
  invalid_key_length = 5,
  invalid_value_length = 7,
  other = 14,
};

// The tag of a ring (PMIX_Ring), an operation of all ranks that may overlap their fences. No
// barrier of PMI-1 has this tag.
inline constexpr std::uint32_t kExchangeTag = UINT32_MAX;

class Pmi2Session {
 public:
  // `facts` are those of this client's rank. The client has chosen PMI-2 before.
  explicit Pmi2Session(JobFacts facts);

  // Takes the bytes that the client wrote, in pieces of any size.
  void receive(std::string_view bytes);

  // Returns the next request to the job, or std::nullopt if no complete message is there that may
  // be served now.
  std::optional<SessionRequest> next();

  // Answers request `number` of those that next() returned, counted from 1. The call is ignored if
  // that request is not outstanding.
  void answer(ask::RequestId number, const ask::Response& answer);

  // Returns the bytes to write to the client, and removes them from the session.
  std::string take_output();

  // Returns true until the client has sent finalize. Until then its end is a failure of the rank.
  bool unfinished() const { return !finalized_; }

 private:
  // The table at the top of this file explains the states.
  enum class State { start, ready, finalized, over };
  // Says what the response has beside rc and errmsg. done: no more fields. get: found and value.
  // lookup: the port. failed: the failed ranks, as a value. fence: as done, but a rank has at most
  // one. exchange: the fields of PMIX_Ring. spawn: jobid and errcodes.
  enum class Kind { done, get, lookup, failed, fence, exchange, spawn };
  // A function that serves a message returns a request to the job. It is std::nullopt if the
  // session has responded by itself, or if the rank aborts only itself.
  using Served = std::optional<SessionRequest>;
  using Handler = Served (Pmi2Session::*)(const Pmi2Message&);
  // A command of a client and the function that serves it.
  struct Command {
    std::string_view name;
    Handler serve;
  };
  // A request that the job has not answered yet.
  struct InFlight {
    ask::RequestId number = 0;
    Kind kind = Kind::done;
    std::string command;
    std::optional<std::string> thrid;
    std::uint64_t ranks = 0;  // that a spawn asks for
  };
  // Has the commands that are accepted in State::ready, except abort.
  static const Command kCommands[];

  // Parses the next message into head_, unless it is there already. Returns false if more bytes are
  // needed, or if unreadable_ says why no message can be read.
  bool read_head();
  // Returns true if the message in head_ may not be served yet. Its thread has an outstanding
  // request, or the session has kMaxInFlight of them. Requires head_.
  bool head_waits() const;
  // Returns true if a request of this kind is outstanding.
  bool under_way(Kind kind) const;
  // Searches the messages that wait for an abort. Returns std::nullopt if there is none.
  Served queued_abort();
  // serve() checks the state and calls the function of the message's command. The functions below
  // it each serve the command that their name says: they check the message's fields, and return the
  // request to the job or respond at once.
  Served serve(const Pmi2Message& message);
  Served fullinit(const Pmi2Message& message);
  Served finalize(const Pmi2Message& message);
  Served abort(const Pmi2Message& message);
  Served job_getid(const Pmi2Message& message);
  // Serves the commands that are not supported.
  Served refuse_all(const Pmi2Message& message);
  Served kvs_put(const Pmi2Message& message);
  Served kvs_get(const Pmi2Message& message);
  Served kvs_fence(const Pmi2Message& message);
  Served put_node_attribute(const Pmi2Message& message);
  Served get_node_attribute(const Pmi2Message& message);
  Served get_job_attribute(const Pmi2Message& message);
  Served name_publish(const Pmi2Message& message);
  Served name_lookup(const Pmi2Message& message);
  Served name_unpublish(const Pmi2Message& message);
  // ring: PMIX_Ring. memory_ring: the shared memory of pmi/protocol/ring_layout.h (scela-ring).
  Served ring(const Pmi2Message& message);
  Served segment(const Pmi2Message& message);
  Served memory_ring(const Pmi2Message& message);
  Served left(const Pmi2Message& message);
  Served spawn(const Pmi2Message& message);

  // Returns true if `message` has `key` with a value of at most `most` bytes. Otherwise it sends
  // the client an error and returns false.
  bool has(const Pmi2Message& message, std::string_view key, std::size_t most, Pmi2Code too_long);
  // Does the same as has() for the key `name`.
  bool has_name(const Pmi2Message& message);
  // Sends a message to the client. Always returns std::nullopt.
  Served reply(const Pmi2Writer& message);
  // Sends the client an error in response to `message`, with `why` as errmsg. Always returns
  // std::nullopt.
  Served refuse(const Pmi2Message& message, Pmi2Code code, std::string_view why);
  // Ends the session and returns the Violation.
  Served violation(std::string_view why);
  // Numbers the request, notes it in in_flight_ and returns it.
  Served ask_job(const Pmi2Message& message, Kind kind, SessionRequest request);
  // Add the fields of the job's answer to the response `out` to a spawn or a ring. `ranks` is the
  // number of ranks that the spawn asked for.
  static void answer_spawn(Pmi2Writer& out, std::uint64_t ranks, const ask::Response& answer);
  void answer_exchange(Pmi2Writer& out, const ask::Response& answer) const;

  JobFacts facts_;
  State state_ = State::start;
  bool finalized_ = false;
  ask::RequestId asked_ = 0;  // number of the last request
  std::vector<InFlight> in_flight_;
  std::string input_;
  std::size_t consumed_ = 0;         // bytes of input_ that were served
  std::size_t looked_through_ = 0;   // no abort in the messages before it
  std::optional<Pmi2Message> head_;  // the next message, if complete
  std::string unreadable_;           // why no further message can be read
  std::string output_;
};

}  // namespace scela::pmi
