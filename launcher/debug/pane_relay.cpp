#include "launcher/debug/pane_relay.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "common/os/terminal.h"
#include "nla/core/wire/terminal_input.h"

namespace scela {

namespace {

using nla::TerminalInput;

constexpr int kFailed = 1;

// Writes all bytes, and waits for a reader that is slow. Returns false if there is none any more.
bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = retry([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (wrote < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

Fd connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Fd();
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Fd();
  return socket;
}

// The rank's own terminal echoes and gives keys their meaning. Output of other ranks does not come
// from a terminal, so the pane goes on to make lines of it.
void make_raw(bool with_output) {
  termios modes{};
  if (::tcgetattr(0, &modes) != 0) return;
  const tcflag_t output = modes.c_oflag;
  ::cfmakeraw(&modes);
  if (!with_output) modes.c_oflag = output;
  ::tcsetattr(0, TCSANOW, &modes);
}

// Copies in both directions until one ends.
class Relay {
 public:
  Relay(int socket, Rank rank) : socket_(socket), rank_(rank) {}

  bool send_size() const {
    TerminalInput record{rank_, TerminalInput::Kind::size, {}, {}};
    record.size = window_size(0).value_or(WindowSize{});
    return write_all(socket_, encode(record));
  }

  bool send_keys() const {
    char keys[nla::kMaxKeys];
    const ssize_t got = retry([&] { return ::read(0, keys, sizeof keys); });
    if (got <= 0) return false;
    TerminalInput record{rank_, TerminalInput::Kind::keys, {}, {}};
    record.keys.assign(keys, static_cast<std::size_t>(got));
    return write_all(socket_, encode(record));
  }

  bool show() const {
    char bytes[16 * 1024];
    const ssize_t got = retry([&] { return ::read(socket_, bytes, sizeof bytes); });
    return got > 0 && write_all(1, {bytes, static_cast<std::size_t>(got)});
  }

 private:
  int socket_;
  Rank rank_;
};

}  // namespace

std::vector<std::string> pane_words(const std::string& self, const std::string& socket, Rank rank) {
  return {self, std::string(kPaneRelay), socket, cat(rank)};
}

int run_pane(const std::string& socket, const std::string& rank) {
  Rank number = 0;
  std::from_chars(rank.data(), rank.data() + rank.size(), number);
  const Fd connection = connect_to(socket);
  if (!connection) return kFailed;
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t resized;
  ::sigemptyset(&resized);
  ::sigaddset(&resized, SIGWINCH);
  ::sigprocmask(SIG_BLOCK, &resized, nullptr);
  const Fd signals(::signalfd(-1, &resized, SFD_CLOEXEC));
  make_raw(number != kOtherRanks);
  const Relay relay(connection.get(), number);
  bool goes_on = relay.send_size();
  while (goes_on) {
    pollfd ready[] = {{connection.get(), POLLIN, 0}, {0, POLLIN, 0}, {signals.get(), POLLIN, 0}};
    if (retry([&] { return ::poll(ready, 3, -1); }) < 0) return kFailed;
    if (ready[0].revents != 0) goes_on = relay.show();
    if (goes_on && ready[1].revents != 0) goes_on = relay.send_keys();
    if (goes_on && ready[2].revents != 0) {
      signalfd_siginfo info{};
      goes_on = ::read(signals.get(), &info, sizeof info) > 0 && relay.send_size();
    }
  }
  return 0;
}

}  // namespace scela
