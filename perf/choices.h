// The table of the algorithms by which collective operations are carried out, for people to read.
// scela-perf calls it to explain the choice.
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

// Returns a line for each operation and range of sizes (or each of options.sizes). It names the
// algorithm, the source of that choice, and the setting that would override it. The choice is the
// one that a communicator of this process would make.
Result<std::string> explained(const Options& options);

}  // namespace scela::perf
