// Parsers of the environment variables that say how strict an engine is and which faults it
// injects. The engine uses them when it starts; the functions are pure.
#pragma once

#include <optional>
#include <string_view>

#include "common/core/result.h"
#include "hca/core/model/engine.h"

namespace scela::hca {

// Parses "ud-lost=10,ud-twice=5,ud-late=5,not-ready=20,unanswered=1" (times in a thousand),
// "slow-us=50" and "dies-after=1000", in any order.
Result<Faults> parse_faults(std::string_view text);
// Parses a seed, which is a number other than 0. "0" and "" return 0: the engine is not strict.
Result<std::uint64_t> parse_seed(std::string_view text);

}  // namespace scela::hca
