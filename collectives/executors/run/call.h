// A Call is what a run is bound to: a plan, buffers, a reduction and a route. Communicators fill it
// in and hand it to Run::bind(); executors read it. Calls are values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "collectives/core/layout.h"
#include "collectives/executors/run/plan.h"
#include "collectives/executors/run/reduction.h"
#include "collectives/executors/run/transport.h"

namespace scela::collectives {

// The records that the ranks of a call exchange before it is run, if calls are checked: an
// allgather of records in place. All memory that it points to must stay until the run is over.
struct Prelude {
  std::shared_ptr<const Plan> plan;
  const Layout* layout = nullptr;
  std::byte* records = nullptr;  // of all ranks; this rank's is filled in
  // Judges the records of all ranks. It returns the same fault on all ranks, or none; then the call
  // is run.
  std::function<std::optional<Fault>()> judge;
  // Called if judge() finds no fault. It returns another prelude, on all ranks or on none. If it
  // returns null, the call is run.
  std::function<const Prelude*()> next = nullptr;
};

// The arguments that a run is bound to. Buffers and `peers` must stay until the run is over; the
// layout is copied.
struct Call {
  std::shared_ptr<const Plan> plan;
  const Layout* layout = nullptr;
  // If it is not 0, all layouts with this number are equal, so that none is copied again.
  std::uint64_t layout_number = 0;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;  // null: the run has its own
  Reduction reduction;
  Route route;
  std::uint64_t number = 0;    // how many this rank has begun before it
  std::uint16_t kind = 0;      // equal for equal calls; 0: unknown
  int rank = 0;                // this rank, as the list numbers it
  std::span<const int> peers;  // transport ranks; empty: the list's
  // Set if this rank cannot do the operation. The run only tells the ranks that wait for it, and
  // needs no buffers.
  std::shared_ptr<const Fault> refused;
  const Prelude* prelude = nullptr;  // then a refused call needs no plan
};

}  // namespace scela::collectives
