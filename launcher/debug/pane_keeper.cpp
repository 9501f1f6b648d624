#include "launcher/debug/pane_keeper.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "common/os/syscall.h"
#include "launcher/debug/pane_programs.h"

namespace scela {

namespace {

constexpr int kConnection = 3;
// The time that the keeper gets at the end. A shorter one may leave a tmux that a loaded machine
// lets wait; a longer one is how long scela-run hangs if tmux does.
constexpr int kPatienceMs = 10'000;

}  // namespace

Result<void> PaneKeeper::start(const std::string& directory, const std::string& tmux) {
  auto sockets = make_socket_pair(SOCK_STREAM);
  if (!sockets) return fail(sockets.error());
  const std::string self = own_executable();
  // The keeper leads a session, as ^C is not for it. It leaves a child that is init's, and ends.
  const auto status = run_pane_program(self, {self, std::string(kPaneKeeper), directory, tmux},
                                       {kNoStream, kNoStream, kNoStream, sockets->theirs.get()},
                                       ChildGroup::own_session);
  if (!status) {
    return fail(Error{ErrorKind::launch, "start the process that removes the panes at the end", "",
                      text_of(status.error(), self), ""});
  }
  connection_ = std::move(sockets->ours);
  directory_ = directory;
  return {};
}

void PaneKeeper::finish() {
  if (!connection_) return;
  ::shutdown(connection_.get(), SHUT_WR);
  pollfd ended{connection_.get(), POLLIN, 0};
  retry([&] { return ::poll(&ended, 1, kPatienceMs); });
  connection_.reset();
  // If the keeper was killed, nothing has removed it.
  static_cast<void>(remove_tree(directory_));
}

int run_pane_keeper(const std::string& directory, const std::string& tmux) {
  if (::fork() != 0) return 0;
  for (const int signo : {SIGHUP, SIGINT, SIGTERM, SIGPIPE})
    ::signal(signo, SIG_IGN);
  char byte = 0;
  while (retry([&] { return ::read(kConnection, &byte, 1); }) > 0) {
  }
  if (tmux != "-") {
    static_cast<void>(
        run_pane_program(tmux, {"tmux", "-S", cat(directory, "/", kTmuxSocket), "kill-server"},
                         {kNoStream, kNoStream, kNoStream}));
  }
  return remove_tree(directory) ? 0 : 1;
}

}  // namespace scela
