#include "launcher/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>

namespace scela {

namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static const auto sink = [] {
    auto made = std::make_shared<spdlog::logger>("scela-run",
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
    made->set_pattern("%n: %H:%M:%S.%f %l %v");
    made->set_level(spdlog::level::debug);
    return made;
  }();
  return *sink;
}

}  // namespace

Log::Log(const Options& options)
    : verbose_(options.verbose), subsystems_(options.verbose_subsystems) {}
Log::~Log() = default;

bool Log::wanted(const LogRecord& record) const {
  if (record.level >= LogLevel::warning) return true;
  if (!verbose_) return false;
  return subsystems_.empty() || std::find(subsystems_.begin(), subsystems_.end(),
                                          name_of(record.subsystem)) != subsystems_.end();
}

void Log::say(Subsystem subsystem, std::string text) {
  show(LogRecord{LogLevel::info, subsystem, {}, std::move(text)});
}

void Log::show(const LogRecord& record) {
  if (!wanted(record)) return;
  logger().log(level_of(record.level), "{}{}{}: {}", name_of(record.subsystem),
               record.node.empty() ? "" : " ", record.node, record.text);
}

}  // namespace scela
