// Reads the stacks of this node's ranks, by gdb, and hands them on when all are read or the time is
// over. Ranks uses it on the shell's loop, in one thread; nothing in it blocks except the start of
// a gdb, about 0.3 ms.
//
// At most kGdbsAtOnce gdbs run at once. A gdb that is ended early lets its process go on. If a
// rank's process has exactly one child, as a shell or `env` has that runs the program, that child
// is read in its place.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/os/fd.h"
#include "nla/core/wire/inspection.h"
#include "nla/io/poller.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

inline constexpr std::size_t kGdbsAtOnce = 4;
// The most bytes of the output of one gdb. The rest is not read.
inline constexpr std::size_t kMaxGdbOutput = std::size_t{256} * 1024;

class StackReader {
 public:
  // Takes the stacks, each text once. Called once, and never from within the constructor. It may
  // destroy the reader.
  using Done = std::function<void(std::vector<RankStacks>)>;
  // Begins to read the stacks of these ranks, given by their processes. `node` is the node's name,
  // for messages. `poller` is borrowed.
  StackReader(boost::asio::io_context& io, Poller& poller, std::string node,
              std::deque<std::pair<Rank, pid_t>> ranks, std::uint32_t limit_ms, Done done);
  // Kills the gdbs that still run. Their ends are then for reaped() of another reader, or unknown.
  ~StackReader();
  StackReader(const StackReader&) = delete;
  StackReader& operator=(const StackReader&) = delete;

  // Takes the end of a child process. Returns false if it is no gdb of this reader.
  bool reaped(pid_t pid);

 private:
  struct Gdb;
  struct Timer;
  void start_more();
  void start_one(Rank rank, pid_t pid);
  void ended(Gdb& gdb);
  void finish();
  void hand_over();

  boost::asio::io_context& io_;
  Poller& poller_;
  std::string node_;
  std::deque<std::pair<Rank, pid_t>> waiting_;
  std::vector<std::unique_ptr<Gdb>> running_;
  std::vector<RankStacks> stacks_;
  Done done_;
  std::unique_ptr<Timer> timer_;
  std::string program_;  // path of gdb; empty: there is none
};

}  // namespace scela::nla
