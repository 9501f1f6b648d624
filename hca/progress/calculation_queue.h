// The CalculationQueue has the calculations that posts and polls leave to the progress thread,
// because they take long. The TaskLock protects it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "hca/progress/core/task_queues.h"
#include "hca/progress/payloads.h"

namespace scela::hca::progress {

class CalculationQueue {
 public:
  // A calculation that has ended, for TaskQueues::calculated().
  struct Ended {
    PairId pair = 0;
    std::uint64_t serial = 0;
    Status status = Status::success;
  };

  // Appends the calculation of an entry, with its serial in TaskQueues. Copies the payload.
  void push(PairId pair, std::uint64_t serial, const CalcPayload& what);
  // Returns true if no calculation waits to be begun.
  bool empty() const { return waiting_.empty(); }
  // Carries out the oldest calculation, and releases the lock meanwhile. There must be one.
  Ended run_oldest(std::unique_lock<std::mutex>& lock);
  // Drops the calculations of a queue pair. If one of them is under way, waits for it, and releases
  // the lock meanwhile. After this no result is written for the queue pair. The caller holds
  // `mutex`.
  void drop(PairId pair, std::mutex& mutex);

 private:
  struct Calculation {
    PairId pair = 0;
    std::uint64_t serial = 0;
    CalcOp op = CalcOp::sum;
    CalcType type = CalcType::int32;
    std::vector<ibv_sge> pieces;
  };

  std::deque<Calculation> waiting_;
  std::optional<PairId> under_way_;  // its calculation goes on without the lock
  std::condition_variable ended_;
};

}  // namespace scela::hca::progress
