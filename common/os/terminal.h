// Terminals and pseudo-terminals: sizes, modes, and a pair of ends.
//
// Only calls on descriptors that the caller names; no state, no signals. Never makes a terminal the
// controlling one of this process.
#pragma once

#include <optional>

#include "common/core/result.h"
#include "common/core/terminal.h"
#include "common/os/fd.h"

namespace scela {

// Empty: it is no terminal, or one that does not know its size.
std::optional<WindowSize> window_size(int fd);
// The kernel sends SIGWINCH to the foreground if the size is another one.
void set_window_size(int fd, const WindowSize& size);

// Empty: it is no terminal.
std::optional<TerminalModes> terminal_modes(int fd);
void set_terminal_modes(int fd, const TerminalModes& modes);

// The key that means the end of the input; Ctrl-D where none is set.
char end_key(int fd);
// Bytes that were typed and nobody has read.
int unread_input(int fd);

// Reading our end gives EIO once nobody has the other open.
struct PseudoTerminal {
  Fd ours;  // non-blocking
  Fd theirs;
};
Result<PseudoTerminal> open_pseudo_terminal();

}  // namespace scela
