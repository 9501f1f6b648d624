#include "launcher/io/raw_terminal.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <initializer_list>

namespace scela {

namespace {

// The state that the signal handler uses.
termios saved_modes;
volatile sig_atomic_t changed = 0;

// SIGTTOU is blocked, as setting the modes of a terminal from its background would stop this
// process.
void set_modes(const termios& modes) {
  sigset_t one, mask;
  ::sigemptyset(&one);
  ::sigaddset(&one, SIGTTOU);
  ::sigprocmask(SIG_BLOCK, &one, &mask);
  ::tcsetattr(0, TCSANOW, &modes);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

extern "C" void restore_and_die(int signo) {
  if (changed != 0) set_modes(saved_modes);
  ::raise(signo);  // SA_RESETHAND removed the handler
}

void restore_at(std::initializer_list<int> signals) {
  struct sigaction action = {};
  action.sa_handler = restore_and_die;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signo : signals) {
    struct sigaction now = {};
    ::sigaction(signo, nullptr, &now);
    if (now.sa_handler == SIG_DFL) ::sigaction(signo, &action, nullptr);
  }
}

}  // namespace

bool in_background() {
  const pid_t foreground = ::tcgetpgrp(0);
  return foreground >= 0 && foreground != ::getpgrp();
}

void RawTerminal::enter() {
  if (entered_ || in_background() || ::tcgetattr(0, &saved_modes) != 0) return;
  restore_at({SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGALRM, SIGXCPU,
              SIGXFSZ, SIGVTALRM, SIGPROF});
  entered_ = true;
  changed = 1;
  set_raw();
}

void RawTerminal::set_raw() const {
  termios raw = saved_modes;
  ::cfmakeraw(&raw);
  if (!gives_signals_) raw.c_lflag |= saved_modes.c_lflag & static_cast<tcflag_t>(ISIG);
  set_modes(raw);
}

void RawTerminal::give_signals() {
  gives_signals_ = true;
  if (entered_ && !in_background()) set_raw();
}

void RawTerminal::enter_again() {
  if (entered_ && in_background()) leave();
  if (!entered_) return enter();
  set_raw();
}

void RawTerminal::also_at_usual_signals() {
  restore_at({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP});
}

void RawTerminal::leave() {
  if (!entered_) return;
  entered_ = false;
  // If this process is in the background, the process that put it there has set its own modes.
  if (!in_background()) set_modes(saved_modes);
  changed = 0;
}

}  // namespace scela
