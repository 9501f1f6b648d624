// Terminals and pseudo-terminals: sizes, modes, and a pair of ends.
//
// The functions only make calls on descriptors that the caller names; they keep no state and handle
// no signals. They never make a terminal the controlling one of this process.
#pragma once

#include <optional>

#include "common/core/result.h"
#include "common/core/terminal.h"
#include "common/os/fd.h"

namespace scela {

// Returns std::nullopt if `fd` is no terminal, or one that does not know its size.
std::optional<WindowSize> window_size(int fd);
// Sets the size. The kernel sends SIGWINCH to the foreground if the size changes.
void set_window_size(int fd, const WindowSize& size);

// Returns std::nullopt if `fd` is no terminal.
std::optional<TerminalModes> terminal_modes(int fd);
void set_terminal_modes(int fd, const TerminalModes& modes);

// Returns the key that means the end of the input, or Ctrl-D if none is set.
char end_key(int fd);
// Returns the number of bytes that were typed and not yet read.
int unread_input(int fd);

// A read from our end fails with EIO once no process has the other end open.
struct PseudoTerminal {
  Fd ours;  // non-blocking
  Fd theirs;
};
Result<PseudoTerminal> open_pseudo_terminal();

}  // namespace scela
