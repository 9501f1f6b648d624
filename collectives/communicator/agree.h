// Runs agreements among the ranks of a communicator that live (collectives/agreement/agreement.h).
// Communicator::agree() and shrink() use it. Two threads must not use a communicator at once.
#pragma once

#include <cstdint>

#include "collectives/agreement/agreement.h"
#include "collectives/communicator/group.h"
#include "collectives/include/scela/communicator.h"

namespace scela::collectives {

// The call by which a rank takes part, as a bit, so that the ranks see if some have called the
// other.
enum class AgreementCall : std::uint32_t { agree = 1, shrink = 2 };

// The result of an agreement, equal on all ranks that have one.
struct Decision {
  Status status;  // not ok: `word` has no meaning
  AgreementValue word;
};

// Blocks until all ranks that live have decided, and returns the decision. The word has the ranks
// that have ended, and flag 0, which is set if `yes` was true on all. It also has the highest of
// the numbers `proposed` for a new communicator (contexts.h), and the calls of all ranks. The
// executor's operations progress meanwhile.
Decision agree_on(Communicator::State& group, bool yes, AgreementCall call,
                  ContextNumbers::Number proposed);

}  // namespace scela::collectives
