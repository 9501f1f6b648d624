// Writes text for the user to standard error, with a bounded wait if the reader stalls, so that
// scela-run always ends. The command, the session, Log and Spawning use it, in one thread.
//
// A write blocks until the reader takes the text, but for at most `patience` without any progress.
// While the reader stays stalled after that, later writes do not wait, so the total wait is
// bounded. It never changes the flags of the descriptor, which are shared with the user's shell.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>
#include <utility>

namespace scela {

// Writes text to descriptor 2.
class StderrWriter {
 public:
  // `patience` is the longest time that a write waits without any progress.
  explicit StderrWriter(std::chrono::milliseconds patience) : patience_(patience) {}

  // Writes all of the text. Drops the rest if the reader stalls or a write fails. A failure to
  // write cannot be reported either.
  void write(std::string_view all);
  // Sets a function that is called before each write, or none.
  void set_before(std::function<void()> before) { before_ = std::move(before); }
  // Says whether the terminal is in raw mode. Each line then ends with a carriage return too.
  void set_raw(bool on);

 private:
  // Returns true if standard error takes bytes, and false if it does not within the patience.
  bool wait();

  std::chrono::milliseconds patience_;
  bool stalled_ = false;  // the reader stalled at the last write
  bool raw_ = false;
  std::function<void()> before_;
};

}  // namespace scela
