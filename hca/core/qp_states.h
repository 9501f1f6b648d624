// Which changes of a queue pair's state there are, and which attributes each must and may have
// (IBTA 1.4, 10.3.1 and 11.2.5.2; table 96 and those after it).
#pragma once

#include <cstdint>

#include "hca/core/values.h"

namespace scela::hca {

// Whether a queue pair of this type may go from one state to the other with these attributes
// (attribute::kState among them or not: a change to the state it has).
bool may_change(QpType type, QpState from, QpState to, std::uint32_t attributes);

}  // namespace scela::hca
