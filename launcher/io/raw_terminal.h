// Puts the user's terminal into raw mode while a rank has a terminal of its own (--pty). Every key
// then goes to the rank; keys that make signals do so after give_signals(). The terminal is
// restored when scela-run ends, also by a fatal signal (list in enter()). The session and
// StdinReader use it, in the session's one thread.
//
// It handles standard input only, and only one object may exist at a time. It does nothing if
// standard input is no terminal, or if this process is in the background of that terminal.
#pragma once

#include "common/core/terminal.h"

namespace scela {

// Returns true if a read from standard input would stop this process with SIGTTIN. Only the
// session's own terminal does that.
bool in_background();

class RawTerminal {
 public:
  RawTerminal() = default;
  ~RawTerminal() { leave(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Keys lose their meaning here, except those that make signals, and output is shown unprocessed.
  // Signals that would kill this process restore the terminal first.
  void enter();
  // Must be called after SIGCONT. If SIGSTOP stopped this process, it could not call leave(), and
  // the shell has set its own modes. The modes that leave() restores stay the same.
  void enter_again();
  // From now on keys make no signals, or as soon as the terminal is entered.
  void give_signals();
  // Restores the terminal also at SIGINT, SIGTERM, SIGHUP and SIGTSTP, which the session handled
  // until now.
  static void also_at_usual_signals();
  // Restores the modes that the terminal had before enter().
  void leave();
  bool entered() const { return entered_; }

 private:
  // Sets the raw modes, with or without keys that make signals.
  void set_raw() const;

  bool entered_ = false;
  bool gives_signals_ = false;
};

}  // namespace scela
