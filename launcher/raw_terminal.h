// The person's terminal while a rank has one of its own (--pty): every key goes to the rank, those
// that make signals from when it runs, and whatever ends scela-run, the terminal is as it was.
//
// Standard input only; one object at a time. Does nothing where that is no terminal, or one in
// whose background we are.
#pragma once

#include "common/core/terminal.h"

namespace scela {

// Reading would stop us with SIGTTIN. A terminal that is not the session's own does not do that.
bool in_background();

class RawTerminal {
 public:
  RawTerminal() = default;
  ~RawTerminal() { leave(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Keys have no meaning here any more, but for those that make signals, and what is written is
  // shown as it is. Signals that would kill this process without a word restore the terminal first.
  void enter();
  // After SIGCONT: a shell has set its own modes if this process was stopped without a chance to
  // leave, by SIGSTOP. What leave() restores stays what it was.
  void enter_again();
  // Keys make no signals any more, now or when it is entered.
  void give_signals();
  // Those that somebody handled until now, too.
  static void also_at_usual_signals();
  // As it was.
  void leave();
  bool entered() const { return entered_; }

 private:
  void set_raw() const;

  bool entered_ = false;
  bool gives_signals_ = false;
};

}  // namespace scela
