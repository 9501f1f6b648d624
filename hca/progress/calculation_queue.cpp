#include "hca/progress/calculation_queue.h"

#include <utility>

namespace scela::hca::progress {

void CalculationQueue::push(PairId pair, std::uint64_t serial, const CalcPayload& what) {
  waiting_.push_back({pair, serial, what.op, what.type, what.pieces});
}

CalculationQueue::Ended CalculationQueue::run_oldest(std::unique_lock<std::mutex>& lock) {
  const Calculation one = std::move(waiting_.front());
  waiting_.pop_front();
  under_way_ = one.pair;
  lock.unlock();
  const Status status = calculate_here(one.op, one.type, one.pieces);
  lock.lock();
  under_way_.reset();
  ended_.notify_all();
  return {one.pair, one.serial, status};
}

// The program may use the memory of a queue pair that is gone for something else.
void CalculationQueue::drop(PairId pair, std::mutex& mutex) {
  std::erase_if(waiting_, [&](const Calculation& one) { return one.pair == pair; });
  std::unique_lock held(mutex, std::adopt_lock);
  ended_.wait(held, [&] { return under_way_ != pair; });
  held.release();
}

}  // namespace scela::hca::progress
