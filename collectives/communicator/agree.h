// Runs agreements among the ranks of a communicator that live. Communicator::agree() and shrink()
// use it. Two threads must not use a communicator at once.
#pragma once

#include <cstdint>

#include "collectives/agreement/agreement.h"
#include "collectives/communicator/group.h"
#include "collectives/include/scela/communicator.h"

namespace scela::collectives {

// The call of a rank, as a bit, so that the other ranks see if they have called something else.
enum class AgreementCall : std::uint32_t { agree = 1, shrink = 2 };

struct Decision {
  Status status;  // ok: `word` is valid
  AgreementValue word;
};

// Blocks until all ranks that live have decided. They agree on the ranks that have ended, on flag 0
// (yes), and on the highest number that a rank proposes for a communicator (contexts.h).
Decision agree_on(Communicator::State& group, bool yes, AgreementCall call,
                  ContextNumbers::Number proposed);

}  // namespace scela::collectives
