// The command lines of tmux that make windows with a pane for each of several ranks (--tmux).
// launcher/debug/panes.cpp runs them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace scela {

// The panes of a window. More are too small to read; the others get further windows.
inline constexpr std::size_t kPanesOfWindow = 16;

// A pane: the title in its border, and the program that it shows.
struct TmuxPane {
  std::string title;
  std::vector<std::string> command;
};

// The place of the windows.
struct TmuxPlace {
  // The words in front of each command: tmux, and the socket of its server if that is not the
  // user's.
  std::vector<std::string> tmux;
  // The name of a new session, or "": the user's session gets the windows.
  std::string session;
  std::string window;                     // the beginning of the windows' names
  std::uint16_t columns = 80, rows = 24;  // of a new session, until a terminal is attached
};

// Returns the words of each call of tmux, in order. tmux takes 16 KiB in a call, so each pane has a
// call of its own.
std::vector<std::vector<std::string>> tmux_calls(const TmuxPlace& place,
                                                 const std::vector<TmuxPane>& panes);

}  // namespace scela
