// How a process that polls in vain and its engine share out the parts of a long message
// (ErrandBoard), so that each part is moved once, and nothing moves any more once it is over.
//
// Each part is a word that either changes to take it. A process may be stopped, or end, when it has
// taken one: then the engine moves that part too, and the process, should it go on, must not. The
// kernel sees to that: it looks at `there` when the transfer begins, and finds no bytes there any
// more. So the engine (1) withdraws, (2) sees that the thread is not within a transfer.
//
// Templates of the structures in layout.h: tests/unit/hca/interleavings_test.cpp runs these very
// steps in every order.
#pragma once

#include <atomic>
#include <cstdint>

#include "hca/core/layout.h"

namespace scela::hca {

// The engine: what stands in it is whole.
template <class OneErrand>
void offer(OneErrand& errand) {
  errand.state.store(ErrandState::offered, std::memory_order_release);
}
// The engine has it back, and does it itself. False: the process has it, or has had it.
template <class OneErrand>
bool take_back(OneErrand& errand) {
  auto offered = ErrandState::offered;
  return errand.state.compare_exchange_strong(offered, ErrandState::none);
}
// The process has it. False: it is the engine's.
template <class OneErrand>
bool begin(OneErrand& errand) {
  auto offered = ErrandState::offered;
  return errand.state.compare_exchange_strong(offered, ErrandState::begun);
}
// The process: it is over. True: the engine sleeps on `finished`, and is to be woken.
template <class Board, class OneErrand>
bool finish(Board& board, OneErrand& errand, bool done) {
  errand.state.store(done ? ErrandState::done : ErrandState::refused, std::memory_order_release);
  board.finished.fetch_add(1, std::memory_order_seq_cst);
  return board.awaited.load(std::memory_order_seq_cst) != 0;
}

// The engine: `sleep(seen)` sleeps until `finished` is not `seen`, or for some time; not called if
// the errand is over. True: it is.
template <class Board, class OneErrand, class Sleep>
bool await(Board& board, const OneErrand& errand, Sleep sleep) {
  board.awaited.store(1, std::memory_order_seq_cst);
  const std::uint32_t seen = board.finished.load(std::memory_order_seq_cst);
  if (errand.state.load(std::memory_order_seq_cst) == ErrandState::begun) sleep(seen);
  board.awaited.store(0, std::memory_order_relaxed);
  return errand.state.load(std::memory_order_acquire) != ErrandState::begun;
}

// The engine: nothing comes of the errand any more, unless a transfer is under way. `outside()`:
// whether the thread that has begun it is not within one at this moment, as one that is stopped or
// has ended. True: the errand is the engine's, whenever the process goes on.
template <class OneErrand, class Outside>
bool withdraw(OneErrand& errand, Outside outside) {
  errand.there.bytes.store(0, std::memory_order_seq_cst);
  return outside();
}

}  // namespace scela::hca
