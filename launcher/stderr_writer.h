// Text for the person on standard error, whose reader may have stalled: nobody's text is worth a
// scela-run that never ends.
//
// Knows no job. One thread. A write blocks until the text is taken, but no longer than `patience`
// without any progress; while the reader stays stalled after that, no later write waits at all, so
// the wait is bounded in all and not per line. Never changes the descriptor's flags (they are
// shared with the user's shell).
#pragma once

#include <chrono>
#include <string_view>

namespace scela {

class StderrWriter {
 public:
  explicit StderrWriter(std::chrono::milliseconds patience) : patience_(patience) {}

  // Gives the rest of it up quietly: what cannot be shown cannot be reported either.
  void write(std::string_view all);
  // The terminal shows what is written as it is: a line must end with a carriage return too.
  void set_raw(bool on);

 private:
  bool wait();

  std::chrono::milliseconds patience_;
  bool stalled_ = false;
  bool raw_ = false;
};

}  // namespace scela
