#include "common/core/log.h"

namespace scela {

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "unknown";
}

std::string_view name_of(Subsystem subsystem) {
  switch (subsystem) {
    case Subsystem::tree:
      return "tree";
    case Subsystem::launch:
      return "launch";
    case Subsystem::pmi:
      return "pmi";
    case Subsystem::stdio:
      return "stdio";
    case Subsystem::signal:
      return "signal";
    case Subsystem::cache:
      return "cache";
    case Subsystem::trace:
      return "trace";
    case Subsystem::placement:
      return "placement";
  }
  return "unknown";
}

}  // namespace scela
