// One client's PMI-2 session as a state machine: bytes in, requests to the job and answers out.
//
// Follows pmodels/mpich src/pmi/maint/pmi-2.0.txt and, where that is silent, what Slurm's libpmi2
// sends and reads. Begins after the line in which the client has chosen PMI-2 (pmi1.h). Answers by
// itself what the facts of the job hold; the rest goes to the job. A request that carries a thrid
// of its own does not wait for others: each thread of a rank has one in flight. Those with the same
// thrid, or with none, are served one after the other. Only an abort waits for nothing.
//
//   state      enters                 accepts                  leaves to
//   start      -                      fullinit, abort          ready
//   ready      fullinit               everything but fullinit  finalized
//   finalized  finalize               abort                    -
//   over       abort, violation       nothing                  -
//
// Knows no socket, no tree, and not how the job stores pairs. A request that cannot be met is
// answered with the protocol's own error (rc, errmsg). What breaks the protocol (bytes that are no
// message, a command in the wrong state, too much at once) becomes one Violation, after which
// nothing more is read. Holds at most kMaxBacklog + kMaxMessage unread bytes and kMaxInFlight
// requests. Never blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmi/protocol/job_facts.h"
#include "pmi/protocol/pmi2_wire.h"
#include "pmi/protocol/request.h"

namespace scela::pmi {

// What rc says (pmi2.h of Slurm and MPICH).
enum class Pmi2Code : int {
  success = 0,
  invalid_argument = 3,
  invalid_key_length = 5,
  invalid_value_length = 7,
  other = 14,
};

class Pmi2Session {
 public:
  explicit Pmi2Session(JobFacts facts);

  // Takes what the client wrote, in pieces of any size.
  void receive(std::string_view bytes);

  // The next thing for the job to do; none while no whole message is there that may be served.
  std::optional<Request> next();

  // Answers the number-th request that next() gave. Ignored when that one is not outstanding.
  void answer(RequestId number, const Answer& answer);

  // What to write to the client, and forgets it.
  std::string take_output();

  // The client has not said finalize: its end is a failure of the rank.
  bool unfinished() const { return !finalized_; }

 private:
  enum class State { start, ready, finalized, over };
  enum class Kind {
    done,
    get,
    lookup,
    failed,
    fence,
    exchange,
    spawn
  };  // what the answer looks like
  using Served = std::optional<Request>;
  using Handler = Served (Pmi2Session::*)(const Pmi2Message&);
  struct Command {
    std::string_view name;
    Handler serve;
  };
  struct InFlight {
    RequestId number = 0;
    Kind kind = Kind::done;
    std::string command;
    std::optional<std::string> thrid;
    std::uint64_t ranks = 0;  // spawn
  };
  static const Command kCommands[];

  bool read_head();
  bool head_waits() const;
  bool under_way(Kind kind) const;
  Served queued_abort();
  Served serve(const Pmi2Message& message);
  Served fullinit(const Pmi2Message& message);
  Served finalize(const Pmi2Message& message);
  Served abort(const Pmi2Message& message);
  Served job_getid(const Pmi2Message& message);
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
  Served ring(const Pmi2Message& message);
  Served segment(const Pmi2Message& message);
  Served memory_ring(const Pmi2Message& message);
  Served left(const Pmi2Message& message);
  Served spawn(const Pmi2Message& message);

  // True: `key` is there and no longer than `most`; else the client was answered.
  bool has(const Pmi2Message& message, std::string_view key, std::size_t most, Pmi2Code too_long);
  bool has_name(const Pmi2Message& message);
  Served reply(const Pmi2Writer& message);
  Served refuse(const Pmi2Message& message, Pmi2Code code, std::string_view why);
  Served violation(std::string_view why);
  Served ask_job(const Pmi2Message& message, Kind kind, Request request);
  static void answer_spawn(Pmi2Writer& out, std::uint64_t ranks, const Answer& answer);
  void answer_exchange(Pmi2Writer& out, const Answer& answer) const;

  JobFacts facts_;
  State state_ = State::start;
  bool finalized_ = false;
  RequestId asked_ = 0;
  std::vector<InFlight> in_flight_;
  std::string input_;
  std::size_t consumed_ = 0;         // of input_
  std::size_t looked_through_ = 0;   // of input_: whole messages before it hold no abort
  std::optional<Pmi2Message> head_;  // the next message, when it is whole
  std::string unreadable_;           // why there will be no next message
  std::string output_;
};

}  // namespace scela::pmi
