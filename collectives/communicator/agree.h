// Agreements among the ranks of a communicator that live.
#pragma once

#include <cstdint>

#include "collectives/agreement/agreement.h"
#include "collectives/communicator/group.h"
#include "collectives/include/scela/communicator.h"

namespace scela::collectives {

// What a rank has called: bits, so that the others see who has called something else.
enum class AgreementCall : std::uint32_t { agree = 1, shrink = 2 };

struct Decision {
  CollectiveError error;  // none: the rest holds
  Word word;
};

// Blocks until all that live have decided. What is agreed on: who has ended, flag 0 (yes), and the
// highest of the numbers that they propose for a communicator (contexts.h).
Decision agree_on(Communicator::State& group, bool yes, AgreementCall call,
                  ContextNumbers::Number proposed);

}  // namespace scela::collectives
