// The program of a pane of tmux (--tmux): scela-run under another word. It copies keys and window
// sizes of the pane to the scela-run with the job, and the rank's output to the pane.
//
// Both ends are this tree's, and start with the same executable. The socket is in a private
// directory (launcher/debug/panes.h). From the relay come the records of TerminalInput; to it come
// plain bytes. The end of the connection is the end of the rank, and closes the pane.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/core/rank_set.h"

namespace scela {

// The word with which scela-run is started in a pane; the socket and the rank's number follow. It
// is no option: it has no meaning in other places.
inline constexpr std::string_view kPaneRelay = "-pane_of_rank";
// The number of the pane that has the output of all ranks without a pane. Nothing is typed there.
inline constexpr Rank kOtherRanks = UINT32_MAX;

// Returns the command line of a pane. `self` is the path of scela-run.
std::vector<std::string> pane_words(const std::string& self, const std::string& socket, Rank rank);

// Runs until the connection or the pane ends, and returns the exit status. `words` are socket and
// rank.
int run_pane(const std::string& socket, const std::string& rank);

}  // namespace scela
