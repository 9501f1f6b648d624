// What -v shows: records of the subsystems asked for, one line each on standard error.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/core/log.h"
#include "launcher/core/options.h"
#include "launcher/stderr_writer.h"

namespace scela {

class Log {
 public:
  Log(const Options& options, StderrWriter& out);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void say(Subsystem subsystem, std::string text);  // from the launcher itself, level info
  void show(const LogRecord& record);

 private:
  struct Lines;
  bool wanted(const LogRecord& record) const;
  bool verbose_ = false;
  std::vector<std::string> subsystems_;  // empty: all
  std::unique_ptr<Lines> lines_;
};

}  // namespace scela
