// Which table a communicator goes by: the environment's rows, the program's, those built in.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/choice/explain.h"
#include "common/core/result.h"

namespace scela::collectives {

// A variable's value, if it is set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment environment_of_process();

// SCELA_COLL_<OPERATION>, the rest of a row, comes first; then the file that SCELA_COLL_TABLE
// names; then `own`, the program's rows. Ranks whose environments differ choose differently:
// whoever sets them sets them for all.
// The same, source by source, in the order in which they are asked.
Result<std::vector<Source>> sources_of(std::string_view own, const Environment& environment);
std::string variable_of(Operation operation);
// Of "NAME=value" words those that begin with SCELA_COLL_: a name that is none, or a value that
// cannot be, is an error. A misspelt one would do nothing, in silence.
Result<void> check_variables(std::span<const char* const> environment);
Result<Table> table_of(std::string_view own, const Environment& environment);

}  // namespace scela::collectives
