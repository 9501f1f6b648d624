// One client's PMGR session as a state machine: it takes bytes and gives operations of the job and
// answers. PmgrServer uses it, from one thread. The client is a rank's process; "the job" is the
// caller, which carries an operation out and brings its result.
//
// The session follows LLNL/pmgr_collective, protocol 8 (pmgr_collective_mpirun.c). It begins after
// the greeting (greeting.h). A client sends opcodes with root, size and data; all but the data are
// 4-byte native integers.
//
//   state      enters           accepts                                  leaves to
//   ready      -                every opcode                             waiting, over
//   waiting    an operation     ABORT (other bytes are kept, to a bound) ready or over, by answer()
//   over       CLOSE is done,   nothing (bytes are dropped)              -
//              ABORT, an error
//
// The older dialect of MVAPICH 1 (0.9.x, mpirun_rsh) has no opcodes, but three exchanges in a fixed
// order. The other rules are equal.
//
//   1  hostidlen, hostid, hca_type              -> is_homogeneous, N host ids
//   2  addrlen, N+1 ints (queue pairs, the own  -> N LIDs, N queue pairs (-1 for oneself), N host
//      LID at the own rank, a host id last),       ids, N pids
//      pidlen, pid
//   3  rank, a barrier                          -> rank
//
// All ranks must use the same root and size. The job checks roots and kinds; the receiving session
// checks sizes. Knows no socket and no tree. A session holds at most the data of one operation,
// kMaxPmgrBytes, and kMaxAhead more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/core/requests/rank_request.h"

namespace scela::pmi {

// The bytes of one rank in one operation: size, or ranks x size if the operation has a part for or
// from every rank. The bound is ten times what a million ranks need to find each other. If a
// hundred ranks of a node use all of it, they take 3 GiB of their agent.
inline constexpr std::size_t kMaxPmgrBytes = std::size_t{16} * 1024 * 1024;
// The bytes of later operations that may wait unserved. The server stops reading from a client that
// sends more.
inline constexpr std::size_t kMaxAhead = std::size_t{64} * 1024;

struct HangUp {};  // read no more; close when all is written

// A session asks the job for a Collective of all ranks, an Abort or a Violation, or its server to
// close the connection.
using PmgrRequest = std::variant<ask::Request, HangUp>;

class PmgrSession {
 public:
  virtual ~PmgrSession() = default;
  // Takes the bytes that the client wrote, in pieces of any size.
  void receive(std::string_view bytes);
  // Returns the next request to carry out, or std::nullopt if there is none. While an operation is
  // outstanding, that is only an Abort.
  std::optional<PmgrRequest> next();
  // Brings the result of the last Collective, and appends the answer to the client to the output.
  // The call is ignored if none is outstanding.
  void answer(const ask::Response& result);
  // Returns the bytes to write to the client, and removes them from the session.
  std::vector<Chunk> take_output();
  // Returns false if enough bytes wait already, or if the session wants no more.
  bool wants_bytes() const;
  // Returns true until the client has said that it is done. Until then its end is a failure of the
  // rank.
  bool unfinished() const { return !finished_; }

 protected:
  // Holds a request to the job, or std::nullopt if there is none.
  using Served = std::optional<PmgrRequest>;

  PmgrSession(Rank rank, Rank size) : rank_(rank), size_(size) {}

  // Returns the next request in `bytes` and sets `used` to its length in bytes. Returns
  // std::nullopt with `used` 0 if the request is not complete, and with another `used` if it asks
  // nothing of the job.
  virtual Served parse(std::string_view bytes, std::size_t& used) = 0;
  // Sends the client its answer for a result. Returns false, after fail(), if the result is not
  // what this rank asked for.
  virtual bool reply(const ask::Response& result) = 0;

  // Returns a request in `bytes` that is served at once although the client waits for an answer: an
  // Abort, or nothing.
  virtual Served urgent(std::string_view /*bytes*/) const { return std::nullopt; }

  // Returns an operation of this kind of all ranks, without parts. `root` counts for gather,
  // broadcast and scatter.
  ask::Collective call_of(ask::CollectiveKind kind, Rank root = 0) const;
  // Returns a Violation about the rank. The session ends once next() returns it.
  Served violation(std::string_view why) const;
  // These append to the output. Integers are native, of 4 bytes.
  void send(const Chunk& bytes);
  void send_int(std::int32_t value);
  // Notes why reply() returns false, for the Violation that follows.
  void fail(std::string why) { fault_ = std::move(why); }
  // Notes that the client's end is no failure any more.
  void finish() { finished_ = true; }
  // Makes the session end with a HangUp once the present operation is answered.
  void hang_up() { leaves_ = true; }

  const Rank rank_;
  const Rank size_;

 private:
  // Ends the session, drops unserved bytes, and returns `last`.
  Served end(PmgrRequest last);

  // The table at the top of this file explains the states.
  enum class State { ready, waiting, over };
  State state_ = State::ready;
  bool finished_ = false;
  bool leaves_ = false;
  std::optional<PmgrRequest> last_;  // returned once, before the end
  std::string fault_;
  std::string input_;
  std::size_t consumed_ = 0;  // bytes of input_ that were served
  std::vector<Chunk> output_;
  std::string small_;  // the end of the output
};

// Makes a session of protocol 8 for this rank of a job of `size` ranks; `rank` is less than `size`.
std::unique_ptr<PmgrSession> make_pmgr_session(Rank rank, Rank size);
// Makes a session of MVAPICH 1's dialect, in the same way.
std::unique_ptr<PmgrSession> make_mvapich1_session(Rank rank, Rank size);

}  // namespace scela::pmi
