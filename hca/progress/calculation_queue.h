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

// The calculations that wait, oldest first. All functions need the TaskLock.
class CalculationQueue {
 public:
  // The result of a calculation: the arguments of TaskQueues::calculated().
  struct Ended {
    PairId pair = 0;
    std::uint64_t serial = 0;
    Status status = Status::success;
  };

  // Appends the calculation of the entry with this serial (TaskQueues) of a queue pair. Copies the
  // payload.
  void push(PairId pair, std::uint64_t serial, const CalcPayload& what);
  // Returns true if no calculation waits to be begun.
  bool empty() const { return waiting_.empty(); }
  // Carries out the oldest calculation and returns its result; there must be one. `lock` holds the
  // TaskLock, which is released meanwhile.
  Ended run_oldest(std::unique_lock<std::mutex>& lock);
  // Drops the calculations of a queue pair. If one of them is under way, blocks until it is over,
  // and releases the lock meanwhile. After this no result is written for the queue pair. The caller
  // holds `mutex`, which is that of the TaskLock.
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
  // The queue pair of the calculation that goes on without the lock.
  std::optional<PairId> under_way_;
  std::condition_variable ended_;
};

}  // namespace scela::hca::progress
