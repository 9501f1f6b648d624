// The port through which the ranks of this node reach their agent, where their protocol wants one:
// a listener on 127.0.0.1, and visitors that have not said who they are.
//
// Nobody is heard but processes of this job: the kernel tells the user of a connection's other end
// before a byte of it is read, and once the visitor has named a rank, the socket must be open in
// that rank's process or one below it. Another user's connection, or one of a process outside, is
// closed and told to the user once. At most kMaxVisitors are held, each for a limited time; more
// wait in the kernel's queue. Each rank checks in once.
//
// An abort comes on a connection of its own that its process closes at once, perhaps before it
// could be looked at: then nobody can tell whose it was. Such a one is kept as a claim, which
// counts only if that rank fails by itself.
//
// Everything runs on the owner's loop; calls of the host come from there.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/core/rank_set.h"
#include "common/core/result.h"
#include "common/os/fd.h"
#include "pmi/protocol/greeting.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

inline constexpr std::size_t kMaxVisitors = 64;
// A process says who it is right after it has connected; one that is stopped meanwhile by a
// debugger or a full machine has this long.
inline constexpr std::chrono::seconds kVisitLimit{20};

// What the door's owner lends. None of it may destroy the door.
struct DoorHost {
  boost::asio::io_context& io;
  Rank size = 0;                       // of the job
  RankSet own;                         // on this node
  std::function<pid_t(Rank)> process;  // of a rank of this node; 0: it does not run
  // `rest`: what came behind the greeting.
  std::function<void(Rank, Fd, std::string rest)> check_in;
  std::function<void(Rank, std::int32_t code, std::string message)> abort;
  std::function<void(Rank)> claimed;  // there is a new claim
  std::function<void(Rank, std::string why)> violation;
  std::function<void(std::string)> warn;  // the user; at most once
  std::chrono::milliseconds limit = kVisitLimit;
};

class RankDoor {
 public:
  // Error (launch): there is no port to be had.
  static Result<std::unique_ptr<RankDoor>> open(pmi::Dialect dialect, DoorHost host);
  virtual ~RankDoor() = default;

  virtual std::uint16_t port() const = 0;
  // The job has more ranks, some of them on this node.
  virtual void add(const RankSet& more, Rank size) = 0;
  // Hears whoever is there now: before a rank's end is told, what it said before.
  virtual void settle() = 0;
  // The last abort that somebody made in the name of this rank and that nobody could be held to.
  virtual const pmi::greeting::Abort* claim(Rank rank) const = 0;
};

}  // namespace scela::nla
