// Writes the records of --json (launcher/core/report/json_records.h): the start of the job at once,
// all others at its end. The session uses it, in its one thread; the command uses it if no host is
// left to start the job on.
//
// Records go to a file, or to a function that writes standard output. A file may be a pipe. A write
// blocks until the reader takes it; if the job is being stopped, until a deadline. After an error
// nothing more is written.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "common/os/fd.h"
#include "launcher/core/report/json_records.h"
#include "launcher/plan/plan.h"
#include "launcher/report/report_lines.h"
#include "launcher/report/stats.h"
#include "nla/core/wire/outcome.h"

namespace scela {

// The records of one job.
class JobRecords {
 public:
  // The name that stands for standard output.
  static constexpr std::string_view kStandardOutput = "-";
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  using Write = std::function<void(std::string)>;

  // Says where the records go: to the file `path`, which is created if need be, or by
  // `to_standard_output`. What the file has is kept if `continues`, else removed. Without open()
  // the other functions do nothing. If the file is a FIFO without a reader, it tells the user by
  // `tell` and blocks until there is one. Returns an error (kind io) if the file cannot be written.
  Result<void> open(const std::string& path, bool continues, Write to_standard_output,
                    const Write& tell);

  // Writes the record of the job. The first call counts. `began_ns` is the monotonic clock at the
  // start of scela-run.
  void begin(const Plan& plan, std::int64_t began_ns);
  // Notes that a host has no agent. `is_lost` says that it had one while ranks ran.
  void add_failure(MissingHost host, bool is_lost);
  // Notes how these ranks have ended.
  void add_outcome(const nla::Outcome& outcome, const RankSet& ranks);
  // Takes what ranks have used from the next piece of the report of node number `node`, which has
  // the ranks `ranks`.
  void add_report(std::uint32_t node, const RankSet& ranks, std::string_view piece);
  // Writes all other records. If `until` is set, a file's reader has time until then.
  void end(const Plan& plan, const JobOutcome& outcome, const Phases& phases, Deadline until);
  // Returns why records are missing in the file.
  const std::optional<Error>& error() const { return error_; }

 private:
  bool is_open() const { return file_ || to_standard_output_; }
  void write(std::string text, const Deadline& until);
  // Waits until the file takes bytes. Returns false if `until` passes first.
  bool wait(const Deadline& until) const;

  std::string path_;
  Fd file_;
  Write to_standard_output_;
  bool has_begun_ = false;
  std::optional<Error> error_;
  ReportLines lines_;
  JsonResult result_;
};

}  // namespace scela
