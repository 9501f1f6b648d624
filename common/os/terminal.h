// Terminals and pseudo-terminals: sizes, modes, and a pair of ends. scela-run uses it for the
// user's terminal, and agents for those of ranks (--pty).
//
// The functions only make calls on descriptors that the caller names; they keep no state and handle
// no signals. They never make a terminal the controlling one of this process.
#pragma once

#include <optional>

#include "common/core/result.h"
#include "common/core/terminal_modes.h"
#include "common/os/fd.h"

namespace scela {

// Returns the size, or std::nullopt if `fd` is no terminal, or one that does not know its size.
std::optional<WindowSize> window_size(int fd);
// Sets the size. The kernel sends SIGWINCH to the foreground if the size changes. It does nothing
// if `fd` is no terminal.
void set_window_size(int fd, const WindowSize& size);

// Returns the modes, or std::nullopt if `fd` is no terminal.
std::optional<TerminalModes> terminal_modes(int fd);
// Sets the modes. It does nothing if `fd` is no terminal. Keys that `modes` does not have stay as
// they are.
void set_terminal_modes(int fd, const TerminalModes& modes);

// Returns the key that means the end of the input, or Ctrl-D if none is set.
char end_key(int fd);
// Returns the number of bytes that were typed and not yet read.
int unread_input(int fd);

// The two ends of a pseudo-terminal. `theirs` becomes the terminal of a child; `ours` is the end
// that types and shows. A read from our end fails with EIO once no process has the other end open.
struct PseudoTerminal {
  Fd ours;  // non-blocking
  Fd theirs;
};
// Makes a pseudo-terminal. Error (launch): the system has none left, or no descriptor is left.
Result<PseudoTerminal> open_pseudo_terminal();

}  // namespace scela
