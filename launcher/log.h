// What -v shows: records of the subsystems asked for, one line each on standard error.
#pragma once

#include <string>
#include <vector>

#include "common/core/log.h"
#include "launcher/core/options.h"

namespace scela {

class Log {
 public:
  explicit Log(const Options& options);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void say(Subsystem subsystem, std::string text);  // from the launcher itself, level info
  void show(const LogRecord& record);

 private:
  bool wanted(const LogRecord& record) const;
  bool verbose_ = false;
  std::vector<std::string> subsystems_;  // empty: all
};

}  // namespace scela
