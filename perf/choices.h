// By which algorithms collective operations are carried out, for people.
#pragma once

#include <algorithm>
#include <string>

#include "common/core/result.h"
#include "perf/core/options.h"

namespace scela::perf {

// `text` filled up with blanks, at least one, to the width of its column.
inline std::string column(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

// A line for each operation and range of sizes (or each of options.sizes): what is chosen, who says
// so, and what would override it. As a communicator of this process would choose.
Result<std::string> explained(const Options& options);

}  // namespace scela::perf
