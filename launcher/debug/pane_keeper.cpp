#include "launcher/debug/pane_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"

extern char** environ;

namespace scela {

namespace {

constexpr int kConnection = 3;
// The time that the keeper gets at the end. A shorter one may leave a tmux that a loaded machine
// lets wait; a longer one is how long scela-run hangs if tmux does.
constexpr int kPatienceMs = 10'000;

// Starts the program with /dev/null as its streams and waits for its end.
void run_quietly(const std::string& program, std::vector<std::string> words) {
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const int descriptors[] = {null.get(), null.get(), null.get()};
  const std::vector<char*> argv = argv_of(words);
  ChildSpec spec;
  spec.program = program.c_str();
  spec.argv = argv.data();
  spec.envp = environ;
  spec.descriptors = descriptors;
  if (const auto pid = start_child(spec)) retry([&] { return ::waitpid(*pid, nullptr, 0); });
}

}  // namespace

Result<void> PaneKeeper::start(const std::string& directory, const std::string& tmux) {
  auto sockets = make_socket_pair(SOCK_STREAM);
  if (!sockets) return fail(sockets.error());
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const int descriptors[] = {null.get(), null.get(), null.get(), sockets->theirs.get()};
  const std::string self = own_executable();
  std::vector<std::string> words = {self, std::string(kPaneKeeper), directory, tmux};
  const std::vector<char*> argv = argv_of(words);
  ChildSpec spec;
  spec.program = self.c_str();
  spec.argv = argv.data();
  spec.envp = environ;
  spec.descriptors = descriptors;
  spec.group = ChildGroup::own_session;  // ^C is not for it
  const auto pid = start_child(spec);
  if (!pid) {
    return fail(Error{ErrorKind::launch, "start the process that removes the panes at the end", "",
                      text_of(pid.error(), self), ""});
  }
  retry([&] { return ::waitpid(*pid, nullptr, 0); });  // it has left a child that is init's
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
  if (tmux != "-")
    run_quietly(tmux, {"tmux", "-S", cat(directory, "/", kTmuxSocket), "kill-server"});
  return remove_tree(directory) ? 0 : 1;
}

}  // namespace scela
