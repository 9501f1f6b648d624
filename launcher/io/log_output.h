// Shows the log records of scela-run -v: one line each on standard error, for the subsystems asked
// for. Warnings and errors are always shown. The session and Spawning use it, in the session's one
// thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/core/log.h"
#include "launcher/core/options/options.h"
#include "launcher/io/stderr_writer.h"

namespace scela {

// Shows the log records that the user wants.
class Log {
 public:
  // Reads from `options` whether -v was given, and for which subsystems. `out` must outlive this
  // object.
  Log(const Options& options, StderrWriter& out);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Logs a line of the launcher itself at level info.
  void say(Subsystem subsystem, std::string text);
  // Writes the record if the user wants it. Text of other nodes is made printable.
  void show(const LogRecord& record);

 private:
  // The formatter of the lines (spdlog); .cpp file only.
  struct Lines;
  // Returns true for warnings and errors, and for the subsystems asked for with -v.
  bool wanted(const LogRecord& record) const;
  bool verbose_ = false;
  std::vector<std::string> subsystems_;  // empty: all subsystems
  std::unique_ptr<Lines> lines_;
};

}  // namespace scela
