// The port through which the ranks of this node reach their agent, if their protocol needs one. It
// is a listener on 127.0.0.1, together with the visitors: connections that have not yet identified
// themselves. RankPort uses it.
//
// Only processes of this job are served. The kernel tells the user of a connection's other end
// before a byte of it is read. Once the visitor has named a rank, the socket must be open in that
// rank's process or in one of its descendants. A connection of another user, or of a process
// outside the job, is closed and reported to the user once. At most kMaxVisitors are held, each for
// a limited time; more wait in the kernel's queue. Each rank checks in once.
//
// An abort comes on a connection of its own, which its process closes at once. If the socket could
// not be examined before that, the sender cannot be verified. Such an abort is kept as a claim,
// which counts only if that rank fails by itself.
//
// Everything runs on the owner's loop, in one thread; the functions of DoorHost are called from
// there.
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
// A process identifies itself right after it has connected. One that is stopped meanwhile by a
// debugger or a full machine has this long.
inline constexpr std::chrono::seconds kVisitLimit{20};

// Lent by the listener's owner. No function of it may destroy the listener.
struct DoorHost {
  boost::asio::io_context& io;
  Rank size = 0;                       // number of ranks of the job
  RankSet own;                         // ranks on this node
  std::function<pid_t(Rank)> process;  // 0: the rank does not run
  // Called when a rank has identified itself. The owner gets the connection. `rest` are the bytes
  // that followed the greeting.
  std::function<void(Rank, Fd, std::string rest)> check_in;
  // Called when a process of the rank asks for the job's end; `code` is the exit status that it
  // wants.
  std::function<void(Rank, std::int32_t code, std::string message)> abort;
  std::function<void(Rank)> claimed;  // there is a new claim in its name
  // Called when the rank has broken the protocol of its greeting. `why` completes "the rank ...".
  std::function<void(Rank, std::string why)> violation;
  std::function<void(std::string)> warn;  // tells the user; at most once
  // The time in which a visitor must identify itself.
  std::chrono::milliseconds limit = kVisitLimit;
};

class RankListener {
 public:
  // Opens a port on 127.0.0.1 that the system chooses, and begins to accept. `dialect` is the
  // greeting that all processes of the job speak. Error (launch): no port is available.
  static Result<std::unique_ptr<RankListener>> open(pmi::Dialect dialect, DoorHost host);
  virtual ~RankListener() = default;

  // Returns the number of the port.
  virtual std::uint16_t port() const = 0;
  // Adds ranks of this node; the job then has `size` ranks.
  virtual void add(const RankSet& more, Rank size) = 0;
  // Accepts the connections that wait now and reads what they have sent, without blocking. To be
  // called before the core is told of a rank's end, so that what the rank sent before comes first.
  virtual void settle() = 0;
  // Returns the last abort in the name of this rank of which the sender could not be verified.
  // Returns nullptr if there is none.
  virtual const pmi::greeting::Abort* claim(Rank rank) const = 0;
};

}  // namespace scela::nla
