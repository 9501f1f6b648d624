#include "launcher/io/log_output.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "launcher/core/report/report_text.h"

namespace scela {

namespace {

// Maximum length in bytes of a record, which a node may have written.
constexpr std::size_t kMaxRecord = 2000;

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

class Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit Sink(StderrWriter& out) : out_(out) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    out_.write({line.data(), line.size()});
  }
  void flush_() override {}

  StderrWriter& out_;
};

}  // namespace

struct Log::Lines {
  explicit Lines(StderrWriter& out) : logger("scela-run", std::make_shared<Sink>(out)) {
    logger.set_pattern("%n: %H:%M:%S.%f %l %v");
    logger.set_level(spdlog::level::debug);
  }
  spdlog::logger logger;
};

Log::Log(const Options& options, StderrWriter& out)
    : verbose_(options.verbose),
      subsystems_(options.verbose_subsystems),
      lines_(std::make_unique<Lines>(out)) {}
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
  lines_->logger.log(level_of(record.level), "{}{}{}: {}", name_of(record.subsystem),
                     record.node.empty() ? "" : " ", printable(record.node, kMaxRecord),
                     printable(record.text, kMaxRecord));
}

}  // namespace scela
