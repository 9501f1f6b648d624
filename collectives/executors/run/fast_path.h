// The FastPath of a run carries out the fast steps (fast_steps.h) of a short run: small messages
// between ranks that have nothing else to do. For a long message both sides should know early. A
// short message mostly has come by the time that it is waited for. So it is received only then, by
// one call.
//
// If something is not as expected, the fast path stops and the run's own steps go on there. That
// may be a message that does not come, a note of a rank that has failed, or a rank that has ended.
// The list means the same in both cases. A Run has one, and uses it with one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>

#include "collectives/executors/run/bound_call.h"
#include "collectives/executors/run/plan_cursor.h"
#include "collectives/executors/run/run_messages.h"

namespace scela::collectives {

class FastPath {
 public:
  // The arguments are parts of one run and outlive this object. `signals` counts the signals of the
  // list that have passed.
  FastPath(const BoundCall& call, RunMessages& messages, PlanCursor& cursor,
           std::atomic<std::uint32_t>& signals)
      : call_(call), messages_(messages), cursor_(cursor), signals_(signals) {}

  // Carries out the call's fast steps from the first one on. Returns true if all are carried out.
  // Otherwise the cursor and the messages are in the state in which the run's own steps must go on.
  // Throws std::bad_alloc; then the cursor is set likewise. Blocks briefly for each message
  // (Transport::take).
  bool run();

 private:
  // The step at which the fast path stops, and the outcome of its message, which may not be over.
  struct Stop {
    const FastStep* at = nullptr;
    Outcome outcome;
  };

  // Carries out the steps, and sets stop.at to the one under way. Returns false if the run's own
  // steps must go on from there.
  bool run_steps(Stop& stop);
  // Sets the run's cursor to a step that was not completed, and marks the receives of earlier steps
  // as over.
  void move_cursor(const FastStep& one);
  // Hands over to the run's own steps at stop.at. If that step's message is over, completes it.
  // Begins the receives of earlier steps that were not waited for.
  void hand_over(const Stop& stop);

  const BoundCall& call_;
  RunMessages& messages_;
  PlanCursor& cursor_;
  std::atomic<std::uint32_t>& signals_;
};

}  // namespace scela::collectives
