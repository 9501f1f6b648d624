// Writes what the ranks print to standard output, standard error or one file per rank and stream.
//
// Never blocks and never changes the descriptors' flags (they are shared with the user's shell): it
// writes only what poll() says will be taken, keeps the rest, and asks to be called again. Credit
// for a rank's bytes is given back when they have been written, so a slow terminal slows the ranks
// instead of filling memory (decision D8).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/core/error.h"
#include "common/os/fd.h"
#include "launcher/core/presentation.h"
#include "launcher/gatherer.h"

namespace scela {

class OutputWriter {
 public:
  struct Hooks {
    std::function<void(std::uint64_t)> written;  // so many of the ranks' bytes have left
    std::function<void(int)> wait_writable;      // call resume() when this descriptor takes more
    std::function<void(const Error&)> failed;    // once; nothing is written to that target any more
  };

  // `directory`: where files go, already created; empty without --output-dir.
  // `gatherer`: keeps standard output to the end; null without --gather.
  OutputWriter(PresentationSettings settings, std::string directory,
               std::unique_ptr<Gatherer> gatherer, Hooks hooks);

  void accept(Rank rank, OutputStream stream, std::string_view bytes, bool end);
  // The terminal shows what is written as it is, which the rank that has one of its own expects:
  // for all others a line must end with a carriage return too.
  void set_raw(bool on);
  // To be called every moment while it is awaited.
  void moment_passed();
  void more_ranks() { presentation_.more_ranks(); }
  void input_over();  // no rank gets more of it
  bool awaits_moments() const { return presentation_.awaits_moments(); }
  void resume();
  bool idle() const { return queues_[0].empty() && queues_[1].empty(); }
  // The standard stream that nobody reads any more (EPIPE), if that happened.
  bool reader_gone() const { return reader_gone_; }
  // At the end: writes what is left, waiting for the reader; for ever, or until that moment.
  void finish(std::optional<std::chrono::steady_clock::time_point> until);
  // Nobody wants it any more: what waits and what comes for the standard streams is dropped.
  void discard();

 private:
  struct Piece {
    std::string bytes;
    std::size_t done = 0;
    std::uint64_t credit = 0;
  };

  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  void take(std::vector<PresentedWrite> writes);
  bool drain(int which, const Deadline& until);
  void show_gathered(Deadline until);
  void pump(int which);
  void write_file(const PresentedWrite& write);
  void fail(const std::string& what, int error);
  void fail(const Error& error);

  std::optional<Rank> terminal_;  // PresentationSettings::terminal
  Presentation presentation_;
  std::string directory_;
  std::unique_ptr<Gatherer> gatherer_;
  Hooks hooks_;
  std::deque<Piece> queues_[2];  // standard output, standard error
  bool broken_[2] = {false, false};
  bool is_file_[2] = {false, false};
  bool raw_[2] = {false, false};
  bool reader_gone_ = false;
  bool failed_ = false;
  std::map<std::string, Fd> files_;  // open ones
  std::deque<std::string> open_order_;
  std::set<std::string> begun_;  // truncated by this job already
};

}  // namespace scela
