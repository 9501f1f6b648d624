// The allowed changes of a queue pair's state, with the attributes that each requires and permits
// (IBTA 1.4, 10.3.1 and 11.2.5.2; table 96 and those after it). The interpreter uses it; the
// function is pure.
#pragma once

#include <cstdint>

#include "hca/core/wire/values.h"

namespace scela::hca {

// Returns true if a queue pair of this type may go from state `from` to state `to` while these
// attributes are set. `attributes` are bits of namespace attribute. Without attribute::kState, `to`
// must equal `from`: they change within the state.
bool may_change(QpType type, QpState from, QpState to, std::uint32_t attributes);

}  // namespace scela::hca
