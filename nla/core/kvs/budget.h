// Bounds, in bytes, on what one rank may make agents hold. An agent is the process of the job on
// one node. The agent's core applies them.
#pragma once

#include <cstdint>

namespace scela::nla {

// A rank of a node may have put this many bytes since the last fence of the whole job. A rank may
// bring as many into one collective operation, together with all that is written beside them. The
// value is twice what the largest request of any protocol takes (pmi/protocol/pmgr.h). If it were
// smaller, such requests would fail. If it were larger, a rank that puts without end would take
// more memory.
inline constexpr std::uint64_t kRankBudget = std::uint64_t{32} * 1024 * 1024;

// A child agent may have brought this many budgets of its ranks into operations that are not over.
// Operations that overlap may carry the same pairs. If the value were smaller, such operations
// would be taken for an attack. If it were larger, an attack would take more memory.
inline constexpr std::uint64_t kOverlappingBudgets = 4;

}  // namespace scela::nla
