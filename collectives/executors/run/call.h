// A Call is what a run is bound to: a plan, buffers, a reduction and a route. Communicators fill it
// in and hand it to Run::bind(); executors read it. Calls are values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "collectives/core/block_layout.h"
#include "collectives/executors/run/message_transport.h"
#include "collectives/executors/run/reduction.h"
#include "collectives/executors/run/run_plan.h"

namespace scela::collectives {

// An exchange before the call, if calls are checked: an allgather in place of a record of each
// rank, by which the ranks compare their calls. All memory that it points to must stay until the
// run is over.
struct Prelude {
  std::shared_ptr<const Plan> plan;
  const Layout* layout = nullptr;
  std::byte* records = nullptr;  // by rank; this rank's is filled in
  // Compares the records of all ranks. Returns the same fault on all ranks, and the call is not
  // run. Or returns std::nullopt, and the call is run.
  std::function<std::optional<Fault>()> judge;
  // Called if judge() finds no fault. Returns another prelude, on all ranks or on none, or null:
  // then the call is run. If the function is empty, there is no other prelude.
  std::function<const Prelude*()> next = nullptr;
};

// The arguments that a run is bound to. Buffers and `peers` must stay until the run is over. The
// layout is copied, and must stay only until the run is bound.
struct Call {
  std::shared_ptr<const Plan> plan;
  const Layout* layout = nullptr;
  // If it is not 0, all layouts with this number are equal in this process, so that none is copied
  // again.
  std::uint64_t layout_number = 0;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;  // null: the run has its own
  Reduction reduction;
  Route route;
  std::uint64_t number = 0;  // operations begun in the context before
  // A hash of operation, root, segments, radix and algorithm, equal on all ranks that make the same
  // call; 0: unknown.
  std::uint16_t kind = 0;
  int rank = 0;                // this rank, as the list numbers it
  std::span<const int> peers;  // by rank of the list; empty: equal
  // Set if this rank cannot do the operation. The run then needs no buffers, and only sends notes
  // to the ranks that wait for it.
  std::shared_ptr<const Fault> refused;
  // Null if calls are not checked. With a prelude, a refused call needs no plan.
  const Prelude* prelude = nullptr;
};

}  // namespace scela::collectives
