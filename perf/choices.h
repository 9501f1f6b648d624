// By which algorithms collective operations are carried out, for people.
#pragma once

#include <string>

#include "common/core/result.h"
#include "perf/core/options.h"

namespace scela::perf {

// A line for each operation and range of sizes (or each of options.sizes): what is chosen, who says
// so, and what would override it. As a communicator of this process would choose.
Result<std::string> explained(const Options& options);

}  // namespace scela::perf
