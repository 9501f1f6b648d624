// Usage counters of ranks (scela-run --stats). Each rank appends lines to a file in its node's
// directory. The node's agent (the process of the job there) sends these lines to the root,
// scela-run, with its report. RankStarter tells a rank the name of its file in SCELA_COUNTERS; the
// shell, the agent's code with system calls, collects the files when the job finishes.
//
// A line is a word, which names the component that keeps the counters, and a JSON object:
//   channel {"connections":2,"sent":1024}
// The root is sent {"counters":"channel","rank":7,"values":{"connections":2,"sent":1024}}. Lines of
// any other form are left out. Of each file at most kMaxOfRank bytes are read.
//
// The functions keep no state. add_counters() blocks as reading local files does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/core/rank_set.h"
#include "nla/io/report_pieces.h"

namespace scela::nla {

// The environment variable with the path of a rank's file.
inline constexpr std::string_view kCountersVariable = "SCELA_COUNTERS";
// The most bytes that are read of a rank's file. The files of a thousand ranks together stay far
// below the amount of data that an agent takes from a child (nla/core/agent/final_report.cpp).
inline constexpr std::size_t kMaxOfRank = std::size_t{16} * 1024;

// Returns the path of a rank's file; `directory` is the node's directory.
std::string counters_file(std::string_view directory, Rank rank);
// Returns the line for the root, with its newline, for a line of the rank's file without one.
// Returns an empty string if `line` has another form.
std::string counters_line(std::string_view line, Rank rank);
// Adds to `report` the lines of all `ranks` that have a regular file in `directory`.
void add_counters(Pieces& report, std::string_view directory, const RankSet& ranks);

}  // namespace scela::nla
