// One client's PMI-1 session as a state machine: bytes in, requests to the job and answers out.
//
// Follows pmodels/mpich src/pmi/maint/pmi-1.1.txt and flux-framework/rfc spec_13. Answers whatever
// the facts of the job hold by itself (init, get_maxes, get_universe_size, get_appnum,
// get_my_kvsname, PMI_process_mapping, finalize); hands put, get and barrier_in to the job, one at
// a time: lines that arrive meanwhile wait, so that a client that pipelines is served in order.
// Only an abort does not wait: another thread of the rank may send it while the first is in a
// barrier that never ends.
//
//   state      enters              accepts                         leaves to
//   start      -                   init, abort                     ready
//   ready      init                everything but init             waiting, finalized
//   waiting    put, get, barrier   abort (other lines are kept)    ready, by answer()
//   finalized  finalize            abort                           -
//   over       abort, violation    nothing (bytes are dropped)     -
//
// Knows no socket, no tree, and not how the job stores pairs. What the client may not do becomes
// one Violation, after which nothing more is read; what it may ask but cannot have is answered with
// rc != 0. Holds at most kMaxBacklog + kMaxLine unread bytes. Never blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "pmi/protocol/job_facts.h"
#include "pmi/protocol/keyval.h"

namespace scela::pmi {

namespace ask {

struct Put {  // into the job's space; key and value are within the limits
  std::string key;
  std::string value;
};
struct Get {  // answered at once, found or not
  std::string key;
};
struct Fence {};  // a barrier of all ranks, after which all puts before it are visible
struct Abort {    // the rank asks for the end of the job; not answered
  std::int32_t code = 1;
  std::string message;  // may be empty
};
struct Violation {  // the rank broke the protocol; not answered
  std::string why;  // for the user, starts with what the rank did
};

}  // namespace ask

using Request = std::variant<ask::Put, ask::Get, ask::Fence, ask::Abort, ask::Violation>;

struct Answer {
  bool ok = true;
  std::string error{};  // when !ok, for a person
  bool found = false;   // get
  std::string value{};  // get
};

class Pmi1Session {
 public:
  explicit Pmi1Session(JobFacts facts);

  // Takes what the client wrote, in pieces of any size.
  void receive(std::string_view bytes);

  // The next thing for the job to do. None while no whole line is there; while an answer is
  // outstanding only Abort and Violation, which end the session.
  std::optional<Request> next();

  // Answers the last Put, Get or Fence that next() gave. Ignored when none is outstanding.
  void answer(const Answer& answer);

  // What to write to the client, and forgets it.
  std::string take_output();

  // The client said init and has not said finalize: its end is a failure of the rank.
  bool unfinished() const { return initialized_ && !finalized_; }

 private:
  enum class State { start, ready, waiting, finalized, over };
  enum class Pending { none, put, get, fence };
  using Served = std::optional<Request>;

  Served serve(std::string_view text);
  Served serve_command(std::string_view command, const Line& line, std::string_view text);
  Served serve_ready(std::string_view command, const Line& line, std::string_view text);
  Served init(const Line& line, std::string_view text);
  Served put(const Line& line, std::string_view text);
  Served get(const Line& line, std::string_view text);
  Served abort(const Line& line);
  Served queued_abort();
  Served spawn_line(const Line& line, std::string_view text);
  Served violation(std::string_view why);
  Served reply(const LineWriter& line);
  Served refuse(std::string_view command, std::string_view why);
  Served ask_job(Pending pending, Request request);

  JobFacts facts_;
  State state_ = State::start;
  Pending pending_ = Pending::none;
  bool initialized_ = false;
  bool finalized_ = false;
  bool in_spawn_ = false;  // between "mcmd=spawn" and the last "endcmd"
  std::size_t spawn_bytes_ = 0;
  std::string total_spawns_;  // as the client wrote them
  std::string spawns_so_far_;
  std::string input_;
  std::size_t consumed_ = 0;        // of input_
  std::size_t searched_ = 0;        // of input_: no newline in [consumed_, searched_)
  std::size_t looked_through_ = 0;  // of input_: whole lines before it hold no abort
  std::string output_;
};

}  // namespace scela::pmi
