// Writes what the engine does and when, as a file of Chrome trace events (a JSON array). Each
// process and queue pair has a track with its requests as they are posted, executed and completed.
// Another track shows the engine's own sleep. A program's computing shows as absence of events.
// Server uses it, on the engine's thread.
//
// A request's span begins when it was taken from its queue, or when the one before it ended. If
// several are on their way, each thus shows how long it was the oldest. Times are microseconds of
// the monotonic clock. The file is complete after each write, and never longer than its bound. Its
// last line then says how many events were left out.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "hca/core/model/trace_sink.h"

namespace scela::hca {

// The trace of one engine. A track is one row of the picture: a process with a queue pair.
class TraceFile final : public TraceSink {
 public:
  static constexpr std::uint64_t kMaxBytes = 64u << 20;  // usual bound of the file

  // Creates the file, or truncates it. "%p" in the name is replaced by the engine's process number.
  // `max_bytes` is the bound of its length. Returns an error if the file cannot be written.
  static Result<TraceFile> make(std::string name, std::uint64_t max_bytes = kMaxBytes);
  TraceFile(TraceFile&&) = default;
  TraceFile& operator=(TraceFile&&) = default;
  // Writes the events that are not in the file yet.
  ~TraceFile() override;

  // Names the track of a process that was attached, by its number `pid` and its program. Until then
  // its events have no process number.
  void joined(ProcessId process, pid_t pid);
  // The end of a sleep: by a doorbell, another event, or the time limit.
  enum class Woken : std::uint8_t { doorbell, other, time };
  // Records a sleep of the engine that began at `from` and has ended now.
  void slept(Moment from, Woken woken);

  // These implement TraceSink (hca/core/model/trace_sink.h). Returns the monotonic clock in
  // nanoseconds.
  Moment time() override;
  // Adds a mark for a request that the engine has seen in its queue.
  void posted(const Request& request) override;
  // Adds the span of a request that is over and was read from its queue at `began`.
  void executed(const Request& request, Moment began, Status status) override;
  // Adds a mark for a completion that was written to a queue of the process.
  void completed(ProcessId process, const Completion& completion) override;
  // Adds a mark for a process with threads that slept in a poll and were woken.
  void woken(ProcessId process) override;

  // Writes the events that are not in the file yet.
  void write();
  // Does so unless a write was done less than 0.2 s ago.
  void settle();

 private:
  TraceFile(Fd file, std::uint64_t max_bytes) : file_(std::move(file)), max_bytes_(max_bytes) {}

  struct Track {
    pid_t pid = 0;
    std::uint32_t qpn = 0;
  };
  // Returns the track of a queue pair, or of the process if `qpn` is 0. On first use, it names the
  // track with `kind`, the type of the queue pair.
  Track track(ProcessId process, std::uint32_t qpn, std::string_view kind);
  // Adds the event that names a process's track.
  void name_process(pid_t pid, std::string_view name);
  // Adds an event without a duration. `arguments` are members of a JSON object, without braces.
  void instant(std::string_view name, Track track, std::string_view arguments);
  // Returns true if the caller must not add an event, because an earlier one found no room. It then
  // counts the event as left out.
  bool is_full();
  // Adds an event, which is a JSON object. If the file has no room for it, the event is left out.
  void add(std::string_view event);

  Fd file_;
  std::uint64_t max_bytes_;
  std::uint64_t written_ = 0;  // bytes, without the closing lines
  std::string buffer_;         // events that are not written yet
  std::uint64_t left_out_ = 0;
  Moment last_write_ = 0;
  std::unordered_map<ProcessId, pid_t> pids_;       // process numbers
  std::unordered_map<std::uint64_t, Moment> ends_;  // the end of each track's last span
};

}  // namespace scela::hca
