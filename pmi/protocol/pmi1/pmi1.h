// One client's PMI-1 session as a state machine: it takes bytes and gives requests to the job and
// answers to the client. LineServer uses it, from one thread. The client is a rank's process; "the
// job" is the caller, which carries a request out and brings its answer.
//
// The session follows pmodels/mpich src/pmi/maint/pmi-1.1.txt and pmi-1.2.txt, and
// flux-framework/rfc spec_13. By itself it answers requests for facts of the job: init, get_maxes,
// get_universe_size, get_appnum, get_my_kvsname, PMI_process_mapping, finalize. It hands put, get,
// barrier_in, names and spawn to the job, one at a time. Lines that arrive meanwhile wait, so that
// a client that pipelines is served in order. Two kinds of lines do not wait:
//   - an abort, which another thread of the rank may send while the first is in a barrier that
//     never ends;
//   - lines after a barrier of a group (1.2), since threads may be in several barriers. The answer
//     to such a barrier carries its tag.
//
//   state      enters              accepts                         leaves to
//   start      -                   init, abort                     ready, or over: PMI-2 begins
//   ready      init                everything but init             waiting, finalized
//   waiting    put, get, ...       abort (other lines are kept)    ready, by answer()
//   finalized  finalize            abort                           -
//   over       abort, violation    nothing (bytes are dropped)     -
//
// Knows no socket, no tree, and not how the job stores pairs. If the client breaks the protocol,
// the session gives one Violation and reads nothing more. A permitted request that cannot be met is
// answered with rc != 0. A session holds at most kMaxBacklog + kMaxLine unread bytes. It never
// blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pmi/protocol/job_facts.h"
#include "pmi/protocol/keyval.h"
#include "pmi/protocol/pmi1/pmi1_spawn.h"
#include "pmi/protocol/session_request.h"

namespace scela::pmi {

class Pmi1Session {
 public:
  // `facts` are those of this client's rank.
  explicit Pmi1Session(JobFacts facts);

  // Takes the bytes that the client wrote, in pieces of any size.
  void receive(std::string_view bytes);

  // Returns the next request to the job, or std::nullopt if no complete line is there. While an
  // answer is outstanding, that is only an Abort or a Violation, which end the session.
  std::optional<SessionRequest> next();

  // Answers request `number` of those that next() returned, counted from 1. The call is ignored if
  // that request is not outstanding.
  void answer(ask::RequestId number, const ask::Response& answer);

  // If the client has chosen PMI-2, returns the bytes that it has sent since, for a session of that
  // protocol; the next call returns std::nullopt. Returns std::nullopt for a client of PMI-1.
  std::optional<std::string> handed_over() { return std::exchange(for_pmi2_, std::nullopt); }

  // Returns the bytes to write to the client, and removes them from the session.
  std::string take_output();

  // Returns true if the client has sent init but not finalize. Its end is then a failure of the
  // rank.
  bool unfinished() const { return initialized_ && !finalized_; }
  // Returns true if the client has sent finalize.
  bool finalized() const { return finalized_; }

 private:
  // The table at the top of this file explains the states.
  enum class State { start, ready, waiting, finalized, over };
  // Says what the outstanding request is; answer() forms the reply by it. `get` also stands for
  // the question which ranks have failed. Barriers of groups are in barriers_ instead.
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
  // A function that serves a line returns the request that next() is to return. It is std::nullopt
  // if the job has nothing to do: the session has replied, or keeps the line.
  using Served = std::optional<SessionRequest>;

  // Each of these serves one line, given as `line`, and as `text` for error messages. serve()
  // parses it, serve_command() checks the state, and serve_ready() finds the function of the
  // command.
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
  // Searches the lines that wait for an abort. Returns std::nullopt if there is none.
  Served queued_abort();
  // Takes a line of a spawn request. Returns the request once its last block has ended. A faulty
  // request is refused then.
  Served spawn_line(std::string_view text);
  // Ends the session and returns the Violation.
  Served violation(std::string_view why);
  // Sends a line to the client. Always returns std::nullopt.
  Served reply(const LineWriter& line);
  // Sends the reply `command` with rc=1 and the reason in msg. Always returns std::nullopt.
  Served refuse(std::string_view command, std::string_view why);
  // Numbers the request and returns it. The session then waits for the job's answer. `pending` says
  // what the request is.
  Served ask_job(Pending pending, SessionRequest request);
  // Sends the reply to a barrier of a group. `tag` is the group's tag as the client wrote it.
  void answer_barrier(const std::string& tag, const ask::Response& answer);

  JobFacts facts_;
  State state_ = State::start;
  Pending pending_ = Pending::none;
  ask::RequestId asked_ = 0;                        // number of the last request
  ask::RequestId pending_number_ = 0;               // of the request that pending_ is about
  std::map<ask::RequestId, std::string> barriers_;  // groups, as the client wrote them
  std::optional<std::string> for_pmi2_;             // bytes behind the init of PMI-2
  bool initialized_ = false;
  bool finalized_ = false;
  bool in_spawn_ = false;  // "mcmd=spawn" to the last "endcmd"
  Pmi1Spawn spawn_;
  std::uint64_t spawned_ = 0;  // ranks of the last spawn request
  std::string input_;
  std::size_t consumed_ = 0;        // bytes of input_ that were served
  std::size_t searched_ = 0;        // no newline in [consumed_, searched_)
  std::size_t looked_through_ = 0;  // no abort in the lines before it
  std::string output_;
};

}  // namespace scela::pmi
