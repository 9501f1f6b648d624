// One client's PMI-1 session as a state machine: bytes in, requests to the job and answers out.
//
// Follows pmodels/mpich src/pmi/maint/pmi-1.1.txt and pmi-1.2.txt, and flux-framework/rfc spec_13.
// Answers whatever the facts of the job hold by itself (init, get_maxes, get_universe_size,
// get_appnum, get_my_kvsname, PMI_process_mapping, finalize); hands put, get, barrier_in, names and
// spawn to the job, one at a time: lines that arrive meanwhile wait, so that a client that
// pipelines is served in order. Two things do not wait: an abort, which another thread of the rank
// may send while the first is in a barrier that never ends, and what comes after a barrier of a
// group (1.2), since threads may be in several; its answer carries the barrier's tag.
//
//   state      enters              accepts                         leaves to
//   start      -                   init, abort                     ready, or over: PMI-2 begins
//   ready      init                everything but init             waiting, finalized
//   waiting    put, get, ...       abort (other lines are kept)    ready, by answer()
//   finalized  finalize            abort                           -
//   over       abort, violation    nothing (bytes are dropped)     -
//
// Knows no socket, no tree, and not how the job stores pairs. What the client may not do becomes
// one Violation, after which nothing more is read; what it may ask but cannot have is answered with
// rc != 0. Holds at most kMaxBacklog + kMaxLine unread bytes. Never blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pmi/protocol/job_facts.h"
#include "pmi/protocol/keyval.h"
#include "pmi/protocol/pmi1_spawn.h"
#include "pmi/protocol/request.h"

namespace scela::pmi {

class Pmi1Session {
 public:
  explicit Pmi1Session(JobFacts facts);

  // Takes what the client wrote, in pieces of any size.
  void receive(std::string_view bytes);

  // The next thing for the job to do. None while no whole line is there; while an answer is
  // outstanding only Abort and Violation, which end the session.
  std::optional<Request> next();

  // Answers the number-th request that next() gave. Ignored when that one is not outstanding.
  void answer(RequestId number, const Answer& answer);

  // The client has chosen PMI-2: what it has sent since, for a session of that protocol. Once.
  std::optional<std::string> handed_over() { return std::exchange(for_pmi2_, std::nullopt); }

  // What to write to the client, and forgets it.
  std::string take_output();

  // The client said init and has not said finalize: its end is a failure of the rank.
  bool unfinished() const { return initialized_ && !finalized_; }
  bool finalized() const { return finalized_; }

 private:
  enum class State { start, ready, waiting, finalized, over };
  enum class Pending {
    none,
    put,
    get,
    fence,
    publish,
    lookup,
    unpublish,
    segment,
    ring,
    left,
    spawn
  };
  using Served = std::optional<Request>;

  Served serve(std::string_view text);
  Served serve_command(std::string_view command, const Line& line, std::string_view text);
  Served serve_ready(std::string_view command, const Line& line, std::string_view text);
  Served init(const Line& line, std::string_view text);
  Served barrier(const Line& line, std::string_view text);
  Served publish(const Line& line, std::string_view text);
  Served lookup(const Line& line, std::string_view text);
  Served unpublish(const Line& line, std::string_view text);
  Served put(const Line& line, std::string_view text);
  Served get(const Line& line, std::string_view text);
  Served left(const Line& line, std::string_view text);
  Served abort(const Line& line);
  Served queued_abort();
  Served spawn_line(std::string_view text);
  Served violation(std::string_view why);
  Served reply(const LineWriter& line);
  Served refuse(std::string_view command, std::string_view why);
  Served ask_job(Pending pending, Request request);
  void answer_barrier(const std::string& tag, const Answer& answer);

  JobFacts facts_;
  State state_ = State::start;
  Pending pending_ = Pending::none;
  RequestId asked_ = 0;
  RequestId pending_number_ = 0;
  std::map<RequestId, std::string> barriers_;  // of groups that have not been answered: as written
  std::optional<std::string> for_pmi2_;
  bool initialized_ = false;
  bool finalized_ = false;
  bool in_spawn_ = false;  // between "mcmd=spawn" and the last "endcmd"
  Pmi1Spawn spawn_;
  std::uint64_t spawned_ = 0;  // ranks that were asked for last
  std::string input_;
  std::size_t consumed_ = 0;        // of input_
  std::size_t searched_ = 0;        // of input_: no newline in [consumed_, searched_)
  std::size_t looked_through_ = 0;  // of input_: whole lines before it hold no abort
  std::string output_;
};

}  // namespace scela::pmi
