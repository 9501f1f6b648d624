// The table of a job's processes as text, which one scela-run sends to another (--attach) and which
// users read: one line "RANK HOST PID EXECUTABLE" for each rank that runs, in the order of ranks.
//
// Pure functions. The executable is the rest of the line, so it may have blanks in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/rank_set.h"
#include "common/core/result.h"

namespace scela {

// The process of one rank.
struct TableEntry {
  Rank rank = 0;
  std::string host;        // as scela-run names it, without blanks
  std::uint32_t pid = 0;   // the number of the process on that host
  std::string executable;  // its path there; "?": not known
  friend bool operator==(const TableEntry&, const TableEntry&) = default;
};

// Returns the lines. Characters that would end a line become '?'.
std::string table_text(const std::vector<TableEntry>& table);
// Returns the entries of lines that table_text() made. Error (protocol): a line is malformed.
Result<std::vector<TableEntry>> parse_table(std::string_view text);

}  // namespace scela
