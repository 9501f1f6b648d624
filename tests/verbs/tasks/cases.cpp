// verbs-tasks: do tasks do what scela/verbs_ext.h promises, whoever executes them?
#include "tests/verbs/tasks/world.h"

namespace semantics {

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& group :
       {order_cases(), counting_cases(), calc_cases(), failure_cases(), chain_cases()})
    cases.insert(cases.end(), group.begin(), group.end());
  return cases;
}

}  // namespace semantics
