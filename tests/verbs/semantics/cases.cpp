// verbs-semantics: does a device do what the verbs interface promises?
#include "tests/verbs/semantics/judge.h"

namespace semantics {

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& group : {query_cases(), state_cases(), posting_cases(), accounting_cases(),
                            transfer_cases(), datagram_cases(), memory_cases(), protection_cases(),
                            error_cases(), event_cases(), srq_cases(), object_cases(),
                            extended_cases(), thread_cases(), xrc_cases(), process_cases()}) {
    cases.insert(cases.end(), group.begin(), group.end());
  }
  return cases;
}

}  // namespace semantics
