// Composes the table by which a communicator chooses algorithms: the environment's rows, the
// program's, and those built in. Communicators and tools use it. The functions have no state; the
// process's environment must not change meanwhile.
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

// Returns the value of an environment variable, or std::nullopt if it is not set. Tests give their
// own.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
// Returns the environment of this process, by getenv().
Environment environment_of_process();

// Returns the sources of rows (collectives/choice/explain.h) in the order in which they are asked,
// or an error if one cannot be read. The variable SCELA_COLL_<OPERATION>, the rest of a row, comes
// first. The file that SCELA_COLL_TABLE names follows, then `own`, the program's rows, then the
// built-in rows. If the environments of ranks differ, the ranks choose differently, so the
// variables must be set for all ranks.
Result<std::vector<Source>> sources_of(std::string_view own, const Environment& environment);
// Returns the name of the operation's variable, such as SCELA_COLL_ALLREDUCE.
std::string variable_of(Operation operation);
// Checks those of the entries "NAME=value" that begin with SCELA_COLL_. Returns an error for an
// unknown name or, for SCELA_COLL_CHECK, an invalid value. A misspelt name would otherwise have no
// effect, without any message.
Result<void> check_variables(std::span<const char* const> environment);
// Returns the rows of sources_of() as one table.
Result<Table> table_of(std::string_view own, const Environment& environment);

}  // namespace scela::collectives
