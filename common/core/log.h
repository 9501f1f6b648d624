// Structured log records, as values: which node says what about which subsystem. Cores emit records
// as actions. Shells carry them to the root, which alone writes them out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scela {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
// Says what a record is about; scela-run -v=NAME selects by it. placement: the bindings of ranks to
// processors. trace: --trace and --record. cache: the PMI pairs that agents keep.
enum class Subsystem : std::uint8_t { tree, launch, pmi, stdio, signal, cache, trace, placement };
inline constexpr int kSubsystems = 8;

std::string_view name_of(LogLevel level);
std::string_view name_of(Subsystem subsystem);

struct LogRecord {
  LogLevel level = LogLevel::info;
  Subsystem subsystem = Subsystem::tree;
  std::string node;  // empty for the launcher
  std::string text;
  friend bool operator==(const LogRecord&, const LogRecord&) = default;
};

}  // namespace scela
