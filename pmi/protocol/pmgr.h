// One client's PMGR session as a state machine: bytes in, operations of the job and answers out.
//
// Follows LLNL/pmgr_collective, protocol 8 (pmgr_collective_mpirun.c), from behind the greeting
// (greeting.h) on: opcodes with their root, size and data, all of them 4-byte native integers.
//
//   state      enters           accepts                                  leaves to
//   ready      -                every opcode                             waiting, over
//   waiting    an operation     ABORT (other bytes are kept, to a bound) ready or over, by answer()
//   over       CLOSE is done,   nothing (bytes are dropped)              -
//              ABORT, an error
//
// The older dialect of MVAPICH 1 (0.9.x, mpirun_rsh) has no opcodes: three exchanges in a fixed
// order. Same rules otherwise.
//
//   1  hostidlen, hostid, hca_type              -> is_homogeneous, N host ids
//   2  addrlen, N+1 ints (queue pairs, the own  -> N LIDs, N queue pairs (-1 for oneself), N host
//      LID at the own rank, a host id last),       ids, N pids
//      pidlen, pid
//   3  rank, a barrier                          -> rank
//
// That root and sizes are the same at all ranks is checked where it can be seen: roots and kinds by
// the job, sizes by who receives. Knows no socket and no tree. Holds at most one operation's data,
// kMaxPmgrBytes, and kMaxAhead more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pmi/protocol/collective.h"

namespace scela::pmi {

// All data of one rank in one operation: size, or ranks x size where the operation has a part for
// or from every rank. Ten times what a million ranks need to find each other; a hundred ranks of a
// node that use all of it take 3 GiB of their agent.
inline constexpr std::size_t kMaxPmgrBytes = std::size_t{16} * 1024 * 1024;
// Bytes of later operations that may lie unserved: who sends on meanwhile is not read any more.
inline constexpr std::size_t kMaxAhead = std::size_t{64} * 1024;

namespace pmgr {

struct Abort {
  std::int32_t code = 0;
};
struct Violation {
  std::string why;  // for the user, starts with what the rank did
};
struct HangUp {};  // the conversation is over: nothing more to read; close when all is written

}  // namespace pmgr

using PmgrRequest = std::variant<Collective, pmgr::Abort, pmgr::Violation, pmgr::HangUp>;

class PmgrSession {
 public:
  virtual ~PmgrSession() = default;
  // Takes what the client wrote, in pieces of any size.
  void receive(std::string_view bytes);
  // The next thing to do. While an operation is outstanding only Abort.
  std::optional<PmgrRequest> next();
  // Answers the last Collective. Ignored when none is outstanding.
  void answer(const Collected& result);
  // What to write to the client, and forgets it.
  std::vector<Chunk> take_output();
  // False: there is enough to do, or nothing more is wanted.
  bool wants_bytes() const;
  // The client has not said that it is done: its end is a failure of the rank.
  bool unfinished() const { return !finished_; }

 protected:
  using Served = std::optional<PmgrRequest>;

  PmgrSession(Rank rank, Rank size) : rank_(rank), size_(size) {}

  // The next request in `bytes`, of which `used` are taken; none while it is not whole, or where
  // it asks nothing of the job.
  virtual Served parse(std::string_view bytes, std::size_t& used) = 0;
  // What the client is sent for a result. False: it is not what this rank asked for, see fail().
  virtual bool reply(const Collected& result) = 0;

  // May an answer wait any longer? Abort, from a client that waits for one.
  virtual Served urgent(std::string_view /*bytes*/) const { return std::nullopt; }

  Served violation(std::string_view why) const;
  void send(const Chunk& bytes);
  void send_int(std::int32_t value);
  void fail(std::string why) { fault_ = std::move(why); }
  void finish() { finished_ = true; }  // its end is no failure any more
  void hang_up() { leaves_ = true; }   // as soon as the operation is done

  const Rank rank_;
  const Rank size_;

 private:
  Served end(PmgrRequest last);

  enum class State { ready, waiting, over };
  State state_ = State::ready;
  bool finished_ = false;
  bool leaves_ = false;
  std::optional<PmgrRequest> last_;  // to be given once, then it is over
  std::string fault_;
  std::string input_;
  std::size_t consumed_ = 0;  // of input_
  std::vector<Chunk> output_;
  std::string small_;  // of output_, its end
};

// Protocol 8. `rank` is one of `size`.
std::unique_ptr<PmgrSession> make_pmgr_session(Rank rank, Rank size);
// MVAPICH 1's own.
std::unique_ptr<PmgrSession> make_mvapich1_session(Rank rank, Rank size);

}  // namespace scela::pmi
