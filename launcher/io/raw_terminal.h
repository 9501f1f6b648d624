// Puts the user's terminal into raw mode while a rank has a terminal of its own (--pty). Every key
// then goes to the rank; keys that make signals do so after give_signals(). The terminal is
// restored when scela-run ends, also by a fatal signal (list in enter()). The session and
// StdinReader use it, in the session's one thread.
//
// It handles standard input only, and only one object may exist at a time. It does nothing if
// standard input is no terminal, or if this process is in the background of that terminal. No
// function returns an error; entered() says whether the terminal is in raw mode.
#pragma once

#include "common/core/terminal_modes.h"

namespace scela {

// Returns true if a read from standard input would stop this process with SIGTTIN: standard input
// is this session's terminal, and another process group is in its foreground.
bool in_background();

// The raw mode of the terminal at standard input.
class RawTerminal {
 public:
  RawTerminal() = default;
  ~RawTerminal() { leave(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Enters raw mode. Keys lose their meaning here, except those that make signals, and output is
  // shown unprocessed. Fatal signals that have their default action restore the terminal first.
  void enter();
  // Must be called after SIGCONT. If SIGSTOP stopped this process, it could not call leave(), and
  // the shell has set its own modes. The modes that leave() restores stay the same.
  void enter_again();
  // From now on the keys that make signals (Ctrl-C) go to the rank too. If the terminal is not
  // entered yet, this holds from then on.
  void give_signals();
  // Has SIGINT, SIGTERM, SIGHUP and SIGTSTP restore the terminal too, as fatal signals do. The
  // session calls it when it handles these signals no more.
  static void also_at_usual_signals();
  // Restores the modes that the terminal had before enter(). It does nothing if raw mode was not
  // entered.
  void leave();
  // Returns true while the terminal is in raw mode.
  bool entered() const { return entered_; }

 private:
  // Sets the raw modes, with or without keys that make signals.
  void set_raw() const;

  bool entered_ = false;
  // True after give_signals(): keys make no signals here.
  bool gives_signals_ = false;
};

}  // namespace scela
