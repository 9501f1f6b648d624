// How a polling process and its engine share the parts of a long message (ErrandBoard). Each part
// is moved once, and no transfer goes on after the message is over. Each function says which side
// calls it.
//
// Each part has a word that either side changes to take the part. A process may stop or end after
// it has taken a part. The engine then moves that part too, and a process that goes on must not
// move it. The kernel ensures that: it reads `there` when the transfer begins, and then finds a
// length of 0. So the engine (1) withdraws the part, and (2) checks that the thread is not inside a
// transfer.
//
// The functions are templates over the structures of hca/core/wire/layout.h, so that
// tests/unit/hca/core/errands_interleavings_test.cpp can run the same steps in every order.
#pragma once

#include <atomic>
#include <cstdint>

#include "hca/core/wire/layout.h"

namespace scela::hca {

// Called by the engine once the errand's fields are complete.
template <class OneErrand>
void offer(OneErrand& errand) {
  errand.state.store(ErrandState::offered, std::memory_order_release);
}
// Called by the engine: takes the part back, to move it itself. Returns false if the process has
// taken it.
template <class OneErrand>
bool take_back(OneErrand& errand) {
  auto offered = ErrandState::offered;
  return errand.state.compare_exchange_strong(offered, ErrandState::none);
}
// Called by the process: takes the part. Returns false if the part belongs to the engine.
template <class OneErrand>
bool begin(OneErrand& errand) {
  auto offered = ErrandState::offered;
  return errand.state.compare_exchange_strong(offered, ErrandState::begun);
}
// Called by the process when the transfer is over. Returns true if the engine sleeps on `finished`
// and must be woken.
template <class Board, class OneErrand>
bool finish(Board& board, OneErrand& errand, bool done) {
  errand.state.store(done ? ErrandState::done : ErrandState::refused, std::memory_order_release);
  board.finished.fetch_add(1, std::memory_order_seq_cst);
  return board.awaited.load(std::memory_order_seq_cst) != 0;
}

// Called by the engine. `sleep(seen)` sleeps until `finished` differs from `seen`, or for a limited
// time; it is not called if the errand is over. Returns whether the errand is over.
template <class Board, class OneErrand, class Sleep>
bool await(Board& board, const OneErrand& errand, Sleep sleep) {
  board.awaited.store(1, std::memory_order_seq_cst);
  const std::uint32_t seen = board.finished.load(std::memory_order_seq_cst);
  if (errand.state.load(std::memory_order_seq_cst) == ErrandState::begun) sleep(seen);
  board.awaited.store(0, std::memory_order_relaxed);
  return errand.state.load(std::memory_order_acquire) != ErrandState::begun;
}

// Called by the engine: makes sure that the errand does no more, unless a transfer is under way.
// `outside()` returns whether the thread that began it is outside a transfer at this moment, as a
// stopped or ended thread is. If this returns true, the errand belongs to the engine even if the
// process goes on.
template <class OneErrand, class Outside>
bool withdraw(OneErrand& errand, Outside outside) {
  errand.there.bytes.store(0, std::memory_order_seq_cst);
  return outside();
}

}  // namespace scela::hca
