// Writes what the ranks print to standard output, to standard error, or to one file per rank and
// stream. The session uses it, in its one thread.
//
// It never blocks, except on files and in finish(), and never changes the flags of the descriptors,
// which are shared with the user's shell. It writes only if poll() reports the descriptor writable,
// keeps the rest, and asks to be called again.
//
// Credit is the number of bytes that the ranks may still send. It is returned after the bytes have
// been written, so a slow terminal slows the ranks instead of filling memory (decision D8). A
// moment is a regular interval of the caller's timer (launcher/core/report/presentation.h).
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
#include "launcher/core/report/presentation.h"
#include "launcher/io/gatherer.h"
#include "launcher/io/live_view.h"

namespace scela {

// Says where the files of --output-dir are.
struct OutputFiles {
  std::string directory;   // must exist; empty: there are none
  bool continued = false;  // append to the files of an earlier start of the job (--restart)
};

// Writes the output of all ranks of a job.
class OutputWriter {
 public:
  // The functions that the owner provides. They are called from within calls of this object.
  struct Hooks {
    // The credit of this many bytes of the ranks is free again: they were written or dropped.
    std::function<void(std::uint64_t)> written;
    // The owner calls resume() if this descriptor becomes writable.
    std::function<void(int)> wait_writable;
    // Called once, for the first error. A standard stream that failed gets no more output.
    std::function<void(const Error&)> failed;
  };

  // `settings` says how lines are marked, and whether files are written. `files` says
  // where the files are. `gatherer` keeps standard output until the end; it is null without
  // --gather.
  OutputWriter(PresentationSettings settings, OutputFiles files, std::unique_ptr<Gatherer> gatherer,
               Hooks hooks);

  // Takes the next bytes of one rank's stream, in order, and writes what can be written without
  // blocking. `end` says that the stream ends after these bytes, which may be none.
  void accept(Rank rank, OutputStream stream, std::string_view bytes, bool end);
  // Says whether the user's terminal is in raw mode, for a rank that has a terminal of its own.
  // Lines of all other ranks then end with a carriage return too.
  void set_raw(bool on);
  // Shows partial lines that have waited long enough (prompts), and with gathered output on a
  // terminal the groups so far. The caller must call it at regular
  // moments while needs_ticks() is true.
  void tick();
  // Says that the job got more ranks than it had at the start.
  void more_ranks() { presentation_.more_ranks(); }
  // Removes what is drawn on the terminal about the groups so far. The caller must call it before
  // any other text goes to the terminal.
  void hide_live_view();
  // Says that no rank gets more input. A partial line is then no prompt any more.
  void set_no_input();
  // Returns true if tick() has something to show.
  bool needs_ticks() const {
    return presentation_.needs_ticks() || (live_view_ && live_view_->needs_ticks());
  }
  // Queues text of scela-run itself for standard output, behind the output of the ranks so far.
  void add_text(std::string text);
  // Writes as much as the standard streams take without blocking. The owner calls it if a
  // descriptor of wait_writable is writable.
  void resume();
  // Returns true if no output waits for a standard stream.
  bool idle() const { return queues_[0].empty() && queues_[1].empty(); }
  // Returns true if a standard stream has no reader any more (EPIPE).
  bool reader_gone() const { return reader_gone_; }
  // Writes the rest at the end of the job, then the gathered output, and blocks until the reader
  // takes it. If `until` is set, it stops waiting at that time and drops the rest. With gathered
  // output a reader that goes on reading gets more time.
  void finish(std::optional<std::chrono::steady_clock::time_point> until);
  // Drops all pending and later output for the standard streams, and returns its credit.
  void discard();

 private:
  // Bytes for a standard stream. The first `done` of them are written. `credit` is returned when
  // all are.
  struct Piece {
    std::string bytes;
    std::size_t done = 0;
    std::uint64_t credit = 0;
  };

  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  // Writes to the files, and queues what is for the standard streams.
  void take(std::vector<PresentedWrite> writes);
  // Blocks until the queue is empty. Returns false if `until` passes first. `which` is 0 for
  // standard output and 1 for standard error.
  bool drain(int which, const Deadline& until);
  // Writes the gathered output and blocks. If `until` is set, the reader gets a little more time
  // for each piece.
  void show_gathered(Deadline until);
  // Writes what one standard stream takes without blocking. If output is left, it asks for
  // wait_writable.
  void pump(int which);
  // Appends to the rank's file. The first write of a job truncates the file.
  void write_file(const PresentedWrite& write);
  // Calls Hooks::failed for the first error. `error` is an errno.
  void fail(const std::string& what, int error);
  void fail(const Error& error);

  std::optional<Rank> terminal_;         // PresentationSettings::terminal
  std::unique_ptr<LiveView> live_view_;  // with a gatherer, on a terminal
  Presentation presentation_;
  OutputFiles files_in_;
  std::unique_ptr<Gatherer> gatherer_;
  Hooks hooks_;
  std::deque<Piece> queues_[2];       // standard output, standard error
  bool broken_[2] = {false, false};   // the stream gets no more output
  bool is_file_[2] = {false, false};  // the stream is a regular file
  bool raw_[2] = {false, false};      // it is a terminal in raw mode
  bool in_line_[2] = {false, false};  // the last byte that was written is no newline
  bool reader_gone_ = false;
  bool failed_ = false;                 // Hooks::failed was called
  std::map<std::string, Fd> files_;     // open files
  std::deque<std::string> open_order_;  // names in files_, oldest first
  std::set<std::string> begun_;         // files this job has truncated
};

}  // namespace scela
