// The stacks of a job's ranks as text for the user: each stack once, under the ranks that have it.
//
// Pure. The text of a stack comes from a node, which is not trusted: characters that a terminal
// would obey are replaced.
#pragma once

#include <string>
#include <vector>

#include "common/core/rank_set.h"

namespace scela {

// Ranks with the same stacks. `text` has lines, or says why there is no stack.
struct SameStacks {
  RankSet ranks;
  std::string text;
};

// Returns the report, which ends with a newline. The stacks that most ranks have come first.
// `silent` are the ranks of nodes that have not answered.
std::string stack_report(std::vector<SameStacks> groups, const RankSet& silent);

}  // namespace scela
