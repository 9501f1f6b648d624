// How a polling process and its engine share the parts of a long message (CopyJobBoard in
// hca/core/wire/shared_layout.h). The engine offers parts, and a process that polls in vain takes
// some of them. Each part is moved once, and no transfer goes on after the message is over. Each
// function says which side calls it.
//
// Each part is a CopyJob with a word (`state`) that either side changes to take the part. A process
// may stop or end after it has taken a part. The engine then moves that part too, and a process
// that goes on must not move it. The kernel ensures that: it reads `there` when the transfer
// begins, and then finds a length of 0. So the engine (1) withdraws the part, and (2) checks that
// the thread is not inside a transfer.
//
// The functions are templates over the structures of hca/core/wire/shared_layout.h, so that
// tests/unit/hca/core/copy_jobs_interleavings_test.cpp can run the same steps in every order.
// `OneCopyJob` is CopyJob, and `Board` is CopyJobBoard.
#pragma once

#include <atomic>
#include <cstdint>

#include "hca/core/wire/shared_layout.h"

namespace scela::hca {

// Called by the engine once the copy job's fields are complete: from now on the process may take
// the part.
template <class OneCopyJob>
void offer(OneCopyJob& job) {
  job.state.store(CopyJobState::offered, std::memory_order_release);
}
// Called by the engine: takes the part back, to move it itself. Returns true if the part is the
// engine's now. Returns false if the process has taken it.
template <class OneCopyJob>
bool take_back(OneCopyJob& job) {
  auto offered = CopyJobState::offered;
  return job.state.compare_exchange_strong(offered, CopyJobState::none);
}
// Called by the process: takes the part. Returns true if the caller must move it now, and call
// finish(). Returns false if the part belongs to the engine or is not on offer.
template <class OneCopyJob>
bool begin(OneCopyJob& job) {
  auto offered = CopyJobState::offered;
  return job.state.compare_exchange_strong(offered, CopyJobState::begun);
}
// Called by the process when its transfer is over. `done` is true if it has moved all bytes, and
// false if the kernel refused. Returns true if the engine sleeps on `board.finished` and the caller
// must wake it.
template <class Board, class OneCopyJob>
bool finish(Board& board, OneCopyJob& job, bool done) {
  job.state.store(done ? CopyJobState::done : CopyJobState::refused, std::memory_order_release);
  board.finished.fetch_add(1, std::memory_order_seq_cst);
  return board.awaited.load(std::memory_order_seq_cst) != 0;
}

// Called by the engine: waits for a part that the process has taken. `sleep(seen)` must block until
// `board.finished` differs from `seen`, or for a limited time. It is not called if the copy job is
// over. Returns true if the copy job is over, done or refused, and false if the process still moves
// it.
template <class Board, class OneCopyJob, class Sleep>
bool await(Board& board, const OneCopyJob& job, Sleep sleep) {
  board.awaited.store(1, std::memory_order_seq_cst);
  const std::uint32_t seen = board.finished.load(std::memory_order_seq_cst);
  if (job.state.load(std::memory_order_seq_cst) == CopyJobState::begun) sleep(seen);
  board.awaited.store(0, std::memory_order_relaxed);
  return job.state.load(std::memory_order_acquire) != CopyJobState::begun;
}

// Called by the engine for a part that the process has taken: prevents a transfer that has not
// begun. `outside()` returns whether the thread that took the part is outside a transfer at this
// moment, as a stopped or ended thread is. Returns what `outside()` returns. If that is true, the
// part belongs to the engine even if the process goes on.
template <class OneCopyJob, class Outside>
bool withdraw(OneCopyJob& job, Outside outside) {
  job.there.bytes.store(0, std::memory_order_seq_cst);
  return outside();
}

}  // namespace scela::hca
