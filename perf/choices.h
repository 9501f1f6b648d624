// Explains by which algorithms collective operations are carried out, as a table for people to
// read. scela-perf --explain calls it.
#pragma once

#include <algorithm>
#include <string>

#include "common/core/result.h"
#include "perf/core/options.h"

namespace scela::perf {

// Returns `text`, padded with at least one blank to the width of its column.
inline std::string column(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

// Returns the table: a line for each operation of options.ops (or for all), and each range of sizes
// (or each of options.sizes). A line has the algorithm, the source of that choice, and the setting
// that would override it. The choice is the one that a communicator of this process would make for
// options.ranks on options.nodes. Returns an error if a setting of this process is malformed.
Result<std::string> choices_text(const Options& options);

}  // namespace scela::perf
