// verbs-tasks: do tasks keep the promises of scela/verbs_ext.h, on a device or on a thread?
#include "tests/verbs/tasks/tasks_world.h"

namespace semantics {

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& group :
       {order_cases(), counting_cases(), calc_cases(), failure_cases(), chain_cases()})
    cases.insert(cases.end(), group.begin(), group.end());
  return cases;
}

}  // namespace semantics
