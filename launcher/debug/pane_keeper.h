// The process that removes what panes leave (--tmux): tmux's server, and the directory with both
// sockets. It is scela-run under another word, and no child of the scela-run with the job: that one
// may be killed, and the keeper notices by the end of a connection.
#pragma once

#include <string>
#include <string_view>

#include "common/core/result.h"
#include "common/os/fd.h"

namespace scela {

// The word with which scela-run is started as a keeper; the directory and tmux's path follow, or
// "-" if tmux's server is the user's. It is no option.
inline constexpr std::string_view kPaneKeeper = "-keeper_of_panes";
// The name of the socket of a tmux server in that directory.
inline constexpr std::string_view kTmuxSocket = "tmux";

// The connection to a keeper.
class PaneKeeper {
 public:
  PaneKeeper() = default;
  ~PaneKeeper() { finish(); }
  PaneKeeper(const PaneKeeper&) = delete;
  PaneKeeper& operator=(const PaneKeeper&) = delete;

  // Starts the keeper of this directory. `tmux` is the path of tmux if its server is to be ended,
  // else "-". Must be called before this process reaps all its children (common/os/process/reaper.h).
  // Error (launch): no process can be made.
  Result<void> start(const std::string& directory, const std::string& tmux);
  // Has the keeper do its work, and waits until it has ended, for at most some seconds.
  void finish();

 private:
  Fd connection_;
  std::string directory_;
};

// The keeper's program; descriptor 3 is the connection. Returns its exit status.
int run_pane_keeper(const std::string& directory, const std::string& tmux);

}  // namespace scela
