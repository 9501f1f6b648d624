// The pseudo-terminal of a rank while the rank runs: its size, the end of its input, and its
// signals. Ranks and RankStreams use it on the shell's loop, in one thread.
//
// The object holds the rank's end open. So the agent's end reports a hang-up only once this object
// and all processes with the terminal are gone. A program may close its streams and open /dev/tty
// later.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>

#include "common/core/terminal_modes.h"
#include "common/os/fd.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

class RankTerminal {
 public:
  // `ours` is the agent's end, `theirs` the rank's. `leader` is the rank's process, which leads the
  // terminal's session.
  RankTerminal(boost::asio::io_context& io, Fd ours, Fd theirs, pid_t leader);
  ~RankTerminal();
  RankTerminal(const RankTerminal&) = delete;
  RankTerminal& operator=(const RankTerminal&) = delete;

  // Sets the terminal's size. The kernel then sends SIGWINCH to the group in the foreground.
  void resize(const WindowSize& size);
  // Sends the signal to the rank's process group, and to the one in the foreground, which a shell
  // makes for each command.
  void signal(int signo);
  // Sends SIGHUP and SIGCONT after `delay`, as hanging up does. Shells ignore SIGTERM at a
  // terminal.
  void hang_up_after(std::chrono::milliseconds delay);
  // Ends the input: types the key that means end of file, and repeats it. A program that has
  // changed the terminal's mode since, as shells do when they start, has not seen it. Each of
  // several readers needs one, too.
  void end_input();

 private:
  struct Timers;
  // Writes the terminal's key for end of file.
  void type_end();
  // Repeats type_end() after `delay`, and then after growing pauses, if no input is unread.
  void type_end_after(std::chrono::milliseconds delay);

  Fd ours_;
  Fd theirs_;
  pid_t leader_;
  std::unique_ptr<Timers> timers_;
  bool ended_ = false;
};

}  // namespace scela::nla
