// The pseudo-terminal of a rank while the rank runs: its size, the end of its input, and who gets
// signals.
//
// Holds the rank's end open, so that our end tells of hanging up only once this object and all who
// were given the terminal are gone: a program may close its streams and open /dev/tty later.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>

#include "common/core/terminal.h"
#include "common/os/fd.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

class RankTerminal {
 public:
  // `leader`: the rank.
  RankTerminal(boost::asio::io_context& io, Fd ours, Fd theirs, pid_t leader);
  ~RankTerminal();
  RankTerminal(const RankTerminal&) = delete;
  RankTerminal& operator=(const RankTerminal&) = delete;

  void resize(const WindowSize& size);
  // To the rank's process group and to the one in the foreground, which a shell makes for each
  // command.
  void signal(int signo);
  // What hanging up brings: for shells, which ignore SIGTERM at a terminal.
  void hang_up_after(std::chrono::milliseconds delay);
  // Types the key that ends the input, now and again: a program that has changed the terminal's
  // mode since, as shells do when they start, has not seen it, and each of several readers wants
  // one.
  void end_input();

 private:
  struct Timers;
  void type_end();
  void type_end_after(std::chrono::milliseconds delay);

  Fd ours_;
  Fd theirs_;
  pid_t leader_;
  std::shared_ptr<Timers> timers_;
  bool ended_ = false;
};

}  // namespace scela::nla
