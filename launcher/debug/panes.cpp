#include "launcher/debug/panes.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/core/counted.h"
#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "common/os/process/child.h"
#include "common/os/syscall.h"
#include "common/os/terminal.h"
#include "launcher/core/debug/tmux_words.h"
#include "launcher/core/report/report_text.h"
#include "launcher/debug/pane_programs.h"
#include "launcher/debug/pane_relay.h"

extern char** environ;

namespace scela {

namespace {

constexpr std::string_view kWhat = "open a pane for each rank (--tmux, --gdb)";
constexpr std::string_view kPanesSocket = "panes";
constexpr std::string_view kNoTmuxServer = "-";
// The time that tmux gets to leave the terminal at the end.
constexpr int kLeaveMs = 5000;

tl::unexpected<Error> failed(ErrorKind kind, std::string why, std::string hint) {
  return fail(Error{kind, std::string(kWhat), "", std::move(why), std::move(hint)});
}

bool has_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// Listens at the path, at which only this user can connect.
Result<Fd> listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return failed(ErrorKind::io, cat("the path ", path, " is too long for a socket"),
                  "set TMPDIR to a shorter one");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool listens =
      socket &&
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::chmod(path.c_str(), 0600) == 0 && ::listen(socket.get(), SOMAXCONN) == 0;
  if (!listens) return failed(ErrorKind::io, cat("make ", path, ": ", errno_text(errno)), "");
  return socket;
}

}  // namespace

Result<void> Panes::start(StderrWriter& person) {
  const char* const path = std::getenv("PATH");
  auto tmux = find_program("tmux", path == nullptr ? kUsualPath : path, ".");
  if (!tmux) {
    return failed(ErrorKind::launch, "there is no tmux in PATH",
                  "install it (package tmux), or name one rank with --gdb and leave --tmux out");
  }
  tmux_ = std::move(*tmux);
  in_users_session_ = has_variable("TMUX");
  if (auto prepared = prepare(); !prepared) return prepared;
  const RankSet& ranks = plan_.job.terminal_ranks;
  const bool attaches = !in_users_session_ && ::isatty(0) == 1 && ::isatty(1) == 1;
  // tmux has the terminal, so others cannot write there.
  shows_others_ = attaches && ranks.size() < plan_.job.map.size();
  const std::string socket = cat(directory_, "/", kPanesSocket);
  std::vector<TmuxPane> panes;
  ranks.for_each([&](Rank rank) {
    panes.push_back({cat("rank ", rank, " on ", plan_.host_of(rank)),
                     pane_words(own_executable(), socket, rank)});
  });
  if (shows_others_) {
    panes.push_back({"the other ranks", pane_words(own_executable(), socket, kOtherRanks)});
  }
  TmuxPlace place{first_words(), in_users_session_ ? "" : "scela", cat("scela-", ::getpid(), "-")};
  if (const auto size = window_size(1)) {
    place.columns = size->columns;
    place.rows = size->rows;
  } else {
    place.columns = 200;
    place.rows = 60;
  }
  for (std::vector<std::string>& words : tmux_calls(place, panes)) {
    if (auto done = run_tmux(std::move(words)); !done) return done;
  }
  if (in_users_session_) return {};
  person.write(cat(kProgramName, counted(panes.size(), "pane"), " in tmux: tmux -S ", directory_,
                   "/", kTmuxSocket, " attach\n"));
  if (attaches) attach();
  return {};
}

Result<void> Panes::prepare() {
  std::string path = private_directory_path(temporary_base(), cat(".scela-tmux-", plan_.job.id));
  if (auto made = make_private_directory(path); !made) return made;
  directory_ = std::move(path);
  const std::string server = in_users_session_ ? std::string(kNoTmuxServer) : tmux_;
  if (auto started = keeper_.start(directory_, server); !started) {
    static_cast<void>(remove_tree(directory_));
    return started;
  }
  auto listener = listen_at(cat(directory_, "/", kPanesSocket));
  if (!listener) return fail(listener.error());
  listener_ = std::move(*listener);
  return {};
}

std::vector<std::string> Panes::first_words() const {
  if (in_users_session_) return {"tmux"};
  return {"tmux", "-S", cat(directory_, "/", kTmuxSocket)};
}

// Runs tmux to its end. It needs no terminal for that.
Result<void> Panes::run_tmux(std::vector<std::string> words) const {
  Result<Pipe> said = make_pipe();
  if (!said) return fail(said.error());
  const auto status =
      run_pane_program(tmux_, std::move(words), {kNoStream, kNoStream, said->write.get()});
  if (!status) return failed(ErrorKind::launch, text_of(status.error(), tmux_), "");
  said->write.reset();
  if (*status == 0) return {};
  char text[400];  // its server may keep the pipe open, so that there is no end
  const ssize_t got = ::read(said->read.get(), text, sizeof text);
  std::string why = got > 0 ? std::string(text, static_cast<std::size_t>(got)) : end_of(*status);
  while (why.ends_with('\n'))
    why.pop_back();
  return failed(ErrorKind::launch, cat("tmux says: ", why),
                "a larger terminal has room for more panes; or name fewer ranks with --gdb");
}

// tmux stays in this process's group, which has the terminal.
void Panes::attach() {
  std::vector<std::string> words = first_words();
  words.emplace_back("attach-session");
  const std::vector<char*> argv = argv_of(words);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error =
      ::posix_spawn(&client_, tmux_.c_str(), nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    client_ = 0;
    return;
  }
  client_end_.reset(static_cast<int>(::syscall(SYS_pidfd_open, client_, 0)));
}

void Panes::open(boost::asio::io_context& io, const std::function<void(nla::Event)>& post) {
  PaneHub::Hooks hooks;
  hooks.typed = [post](Chunk bytes) { post(nla::event::StdinRead{std::move(bytes), false}); };
  hooks.shown = [post](std::uint64_t bytes) { post(nla::event::OutputWritten{bytes}); };
  hub_ = std::make_unique<PaneHub>(io, std::move(listener_), plan_.job.terminal_ranks,
                                   std::move(hooks));
}

bool Panes::show(Rank rank, std::string_view bytes, bool end) {
  if (!hub_) return false;
  if (plan_.job.terminal_ranks.contains(rank)) {
    hub_->show(rank, bytes, end);
    return true;
  }
  if (shows_others_) hub_->show(kOtherRanks, bytes, false);
  return shows_others_;
}

void Panes::finish() {
  if (directory_.empty()) return;
  hub_.reset();
  listener_.reset();
  keeper_.finish();
  directory_.clear();
  if (client_ == 0) return;
  // It restores the terminal. Another part of this process may have reaped it.
  pollfd ended{client_end_.get(), POLLIN, 0};
  retry([&] { return ::poll(&ended, 1, kLeaveMs); });
  ::waitpid(std::exchange(client_, 0), nullptr, WNOHANG);
}

}  // namespace scela
