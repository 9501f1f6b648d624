#include "common/os/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela {

namespace {

constexpr std::size_t kTerminalKeys[kTerminalKeyCount] = {VINTR, VQUIT,   VERASE, VKILL,  VEOF,
                                                          VSUSP, VWERASE, VLNEXT, VSTART, VSTOP};

}  // namespace

std::optional<WindowSize> window_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return WindowSize{size.ws_row, size.ws_col, size.ws_xpixel, size.ws_ypixel};
}

void set_window_size(int fd, const WindowSize& size) {
  const winsize wanted{size.rows, size.columns, size.x_pixels, size.y_pixels};
  ::ioctl(fd, TIOCSWINSZ, &wanted);
}

std::optional<TerminalModes> terminal_modes(int fd) {
  termios now{};
  if (::tcgetattr(fd, &now) != 0) return {};
  TerminalModes modes;
  modes.echo = (now.c_lflag & ECHO) != 0;
  modes.utf8 = (now.c_iflag & IUTF8) != 0;
  for (const std::size_t key : kTerminalKeys)
    modes.keys += static_cast<char>(now.c_cc[key]);
  return modes;
}

void set_terminal_modes(int fd, const TerminalModes& modes) {
  termios wanted{};
  if (::tcgetattr(fd, &wanted) != 0) return;
  const auto flag = [](tcflag_t& flags, tcflag_t bit, bool on) {
    flags = on ? flags | bit : flags & ~bit;
  };
  flag(wanted.c_lflag, ECHO, modes.echo);
  flag(wanted.c_iflag, IUTF8, modes.utf8);
  const std::size_t keys = std::min(modes.keys.size(), kTerminalKeyCount);
  for (std::size_t i = 0; i < keys; ++i)
    wanted.c_cc[kTerminalKeys[i]] = static_cast<cc_t>(modes.keys[i]);
  ::tcsetattr(fd, TCSANOW, &wanted);
}

char end_key(int fd) {
  constexpr char kCtrlD = 4;
  termios now{};
  if (::tcgetattr(fd, &now) != 0 || now.c_cc[VEOF] == _POSIX_VDISABLE) return kCtrlD;
  return static_cast<char>(now.c_cc[VEOF]);
}

int unread_input(int fd) {
  int left = 0;
  return ::ioctl(fd, FIONREAD, &left) == 0 ? left : 0;
}

Result<PseudoTerminal> open_pseudo_terminal() {
  const auto refused = [](const char* what) {
    const int number = errno;
    return fail(os_error(ErrorKind::launch, what, number, std::string(limit_advice(number))));
  };
  PseudoTerminal pair;
  pair.ours.reset(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!pair.ours) return refused("open a pseudo-terminal");
  int locked = 0;
  if (::ioctl(pair.ours.get(), TIOCSPTLCK, &locked) != 0) return refused("unlock a terminal");
  constexpr int kTheirs = O_RDWR | O_NOCTTY | O_CLOEXEC;
  pair.theirs.reset(::ioctl(pair.ours.get(), TIOCGPTPEER, kTheirs));
  if (pair.theirs) return pair;
  // Linux before 4.13 does not know TIOCGPTPEER.
  int number = 0;
  if (::ioctl(pair.ours.get(), TIOCGPTN, &number) != 0) return refused("name a pseudo-terminal");
  pair.theirs.reset(::open(cat("/dev/pts/", number).c_str(), kTheirs));
  if (!pair.theirs) return refused("open the other end of a pseudo-terminal");
  return pair;
}

}  // namespace scela
