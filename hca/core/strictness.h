// How strict an engine is, and what it does wrong on purpose, as its environment says.
#pragma once

#include <optional>
#include <string_view>

#include "common/core/result.h"
#include "hca/core/engine.h"

namespace scela::hca {

// "ud-lost=10,ud-twice=5,ud-late=5,not-ready=20,unanswered=1" (times in a thousand), "slow-us=50",
// "dies-after=1000", in any order.
Result<Faults> parse_faults(std::string_view text);
// A seed: a number that is not 0; "0" and "" are no strictness.
Result<std::uint64_t> parse_seed(std::string_view text);

}  // namespace scela::hca
