// The output of a job while the session runs: the writer, the descriptors that it waits for, the
// timer of partial lines, and how long a reader that stalls is waited for. The session uses it, in
// its one thread.
//
// No function blocks, except finish().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "common/core/result.h"
#include "launcher/core/options/options.h"
#include "launcher/io/output_writer.h"
#include "launcher/plan/plan.h"

namespace boost::asio {
class io_context;
}

namespace scela {

// The extra time, on top of the grace time, that a stalled reader of a stopped job's output gets.
// After that its output is dropped.
inline constexpr std::chrono::milliseconds kReaderSlack{1000};

class JobOutput {
 public:
  // The functions that the owner provides. They are called from within calls of this object, or
  // from the event loop.
  struct Hooks {
    // The credit of this many bytes of the ranks is free again.
    std::function<void(std::uint64_t)> written;
    // Called once, for the first error (OutputWriter::Hooks).
    std::function<void(const Error&)> failed;
    // The reader is not waited for any longer, so output that others keep is to be dropped too.
    std::function<void()> dropped;
  };

  explicit JobOutput(Hooks hooks);
  ~JobOutput();
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  // Makes the writer, and the directory of --output-dir. It is called again if the ranks have been
  // placed anew, before any of them has written. `plan` must outlive this object. Returns an error
  // if --output-name does not fit, or if the directory cannot be made.
  Result<void> prepare(const Options& options, const Plan& plan);
  // Requires prepare(). `io` must outlive this object.
  void open(boost::asio::io_context& io);

  // The writer is another one after the next prepare().
  OutputWriter& writer() { return *writer_; }
  // Takes the next bytes of a rank's stream (OutputWriter::accept).
  void accept(Rank rank, OutputStream stream, std::string_view bytes, bool end);
  // Clears the terminal for another text. What was drawn there is drawn again later.
  void make_room();
  // The job is being stopped. A reader that stalls must not keep it: when the grace time and
  // kReaderSlack are over, the output of this reader is dropped. A reader that keeps up loses no
  // output, however long the end takes.
  void bound_reader(std::chrono::milliseconds grace);
  // Drops what is not written yet, and all later output.
  void drop();
  // All ranks have ended. No hook but `written` and `failed` is called any more.
  void close();
  // The time after which the reader is not waited for; none if the job is not being stopped.
  const std::optional<std::chrono::steady_clock::time_point>& reader_deadline() const {
    return reader_deadline_;
  }
  // Writes the rest, and blocks as long as the reader goes on, or until its deadline.
  void finish() { writer_->finish(reader_deadline_); }

 private:
  void wait_writable(int fd);
  void arm_partial_lines();

  Hooks hooks_;
  std::unique_ptr<OutputWriter> writer_;
  struct Waits;
  std::unique_ptr<Waits> waits_;  // set by open()
  std::optional<std::chrono::steady_clock::time_point> reader_deadline_;
  bool partial_armed_ = false;
  bool closed_ = false;
};

}  // namespace scela
