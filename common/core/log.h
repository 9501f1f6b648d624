// Structured log records, as values: which node reports an event of which subsystem. The state
// machines of agents (nla/core) make records. Agents send them to scela-run, which alone writes
// them out (launcher/io/log_output.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scela {

// The importance of a record. Warnings and errors are always shown, the others with -v.
enum class LogLevel : std::uint8_t { debug, info, warning, error };
// The subject of a record; scela-run -v=NAME selects by it. tree: the agents. launch: the start of
// ranks. pmi: requests of ranks. stdio: input and output. signal: signals to the job. cache: the
// PMI pairs that agents keep. trace: --trace and --record. placement: the bindings of ranks to
// processors.
enum class Subsystem : std::uint8_t { tree, launch, pmi, stdio, signal, cache, trace, placement };
inline constexpr int kSubsystems = 8;  // the number of values of Subsystem

// These return the name as it is written above, such as "info" or "pmi".
std::string_view name_of(LogLevel level);
std::string_view name_of(Subsystem subsystem);

// One event. `text` is the message, without a newline.
struct LogRecord {
  LogLevel level = LogLevel::info;
  Subsystem subsystem = Subsystem::tree;
  std::string node;  // empty for the launcher
  std::string text;
  friend bool operator==(const LogRecord&, const LogRecord&) = default;
};

}  // namespace scela
