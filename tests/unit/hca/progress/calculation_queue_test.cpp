#include "hca/progress/calculation_queue.h"

#include <array>
#include <catch2/catch.hpp>
#include <thread>

namespace scela::hca::progress::calculation_queue_test {
namespace {

using Numbers = std::array<std::int32_t, 2>;

ibv_sge piece(Numbers& numbers) {
  return {reinterpret_cast<std::uint64_t>(numbers.data()), sizeof numbers, 0};
}

CalcPayload sum(Numbers& result, Numbers& left, Numbers& right) {
  CalcPayload what;
  what.pieces = {piece(result), piece(left), piece(right)};
  return what;
}

TEST_CASE("calculation queue: the oldest is carried out first, and the lock is held afterwards") {
  Numbers result{}, left{1, 2}, right{3, 4};
  std::mutex mutex;
  CalculationQueue queue;
  std::unique_lock lock(mutex);
  queue.push(7, 1, sum(result, left, right));
  queue.push(8, 2, sum(result, result, right));
  const auto first = queue.run_oldest(lock);
  CHECK(lock.owns_lock());
  CHECK(first.pair == 7);
  CHECK(first.serial == 1);
  CHECK(first.status == Status::success);
  CHECK(result == Numbers{4, 6});
  CHECK_FALSE(queue.empty());
  CHECK(queue.run_oldest(lock).pair == 8);
  CHECK(result == Numbers{7, 10});
  CHECK(queue.empty());
}

TEST_CASE("calculation queue: memory that cannot be read is reported") {
  Numbers result{}, left{1, 2};
  std::mutex mutex;
  CalculationQueue queue;
  std::unique_lock lock(mutex);
  CalcPayload what = sum(result, left, left);
  what.pieces[1].addr = 8;
  queue.push(1, 0, what);
  CHECK(queue.run_oldest(lock).status == Status::local_protection);
}

TEST_CASE("calculation queue: no calculation of a dropped queue pair writes its result") {
  Numbers kept{}, dropped{}, left{1, 2}, right{3, 4};
  std::mutex mutex;
  CalculationQueue queue;
  mutex.lock();
  queue.push(1, 0, sum(dropped, left, right));
  queue.push(2, 0, sum(kept, left, right));
  queue.push(1, 1, sum(dropped, left, right));
  queue.drop(1, mutex);
  mutex.unlock();
  std::thread worker([&] {
    std::unique_lock lock(mutex);
    while (!queue.empty())
      queue.run_oldest(lock);
  });
  worker.join();
  CHECK(kept == Numbers{4, 6});
  CHECK(dropped == Numbers{});
}

}  // namespace
}  // namespace scela::hca::progress::calculation_queue_test
