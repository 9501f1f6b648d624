// What a rank may make others hold.
#pragma once

#include <cstdint>

namespace scela::nla {

// Bytes that one rank of a node may have put without a fence of the whole job since, and that it
// may bring into one collective operation with all that is written beside it. Twice what the
// largest request of any protocol takes (pmi/protocol/pmgr.h). Smaller: those would fail; larger:
// more memory for a rank that puts without end.
inline constexpr std::uint64_t kRankBudget = std::uint64_t{32} * 1024 * 1024;

// So many budgets of its ranks a child agent may have brought into operations that are not over.
// Those that overlap may carry the same pairs. Smaller: they would be taken for an attack; larger:
// more memory for one.
inline constexpr std::uint64_t kOverlappingBudgets = 4;

}  // namespace scela::nla
