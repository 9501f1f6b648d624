// Parsers of the environment variables that say how strict an engine is and which faults it
// injects. The engine uses them when it starts; the functions are pure.
#pragma once

#include <optional>
#include <string_view>

#include "common/core/result.h"
#include "hca/core/model/engine.h"

namespace scela::hca {

// Parses the value of SCELA_HCA_FAULTS: words with commas between them, in any order, such as
// "ud-lost=10,slow-us=50,dies-after=1000". The words ud-lost, ud-twice, ud-late, not-ready and
// unanswered are times in a thousand. The error (usage) names the word that is wrong.
Result<Faults> parse_faults(std::string_view text);
// Parses the value of SCELA_HCA_STRICT, a number from which a strict engine draws its order of
// events. Returns 0 for "0" and "": the engine is not strict. The error is of kind usage.
Result<std::uint64_t> parse_seed(std::string_view text);

}  // namespace scela::hca
