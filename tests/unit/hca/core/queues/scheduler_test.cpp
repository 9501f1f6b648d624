#include "hca/core/queues/scheduler.h"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

namespace scheduler_test {

using namespace scela;
using namespace scela::hca;

namespace {

struct Queues {
  explicit Queues(bool is_strict = false) : scheduler(objects, random, is_strict) {}
  Qp& make() {
    const std::uint32_t number = objects.add(Qp());
    Qp& qp = *objects.find<Qp>(number);
    qp.handle = number;
    return qp;
  }
  // Returns the numbers of the queue pairs that have a turn, 0 for those that are gone.
  std::vector<std::uint32_t> turns() {
    std::vector<std::uint32_t> numbers;
    while (scheduler.has_next()) {
      const Qp* const qp = scheduler.next();
      numbers.push_back(qp ? qp->handle : 0);
    }
    return numbers;
  }
  Random random{1};
  ObjectTables objects;
  Scheduler scheduler;
};

using Numbers = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("hca scheduler: a queue pair that waits for its turn is not scheduled twice") {
  Queues queues;
  Qp &a = queues.make(), &b = queues.make();
  queues.scheduler.schedule(b);
  queues.scheduler.schedule(a);
  queues.scheduler.schedule(b);
  CHECK(queues.turns() == Numbers{b.handle, a.handle});
  queues.scheduler.schedule(b);
  CHECK(queues.turns() == Numbers{b.handle});
}

TEST_CASE("hca scheduler: the turn of a queue pair that was destroyed is empty") {
  Queues queues;
  Qp &a = queues.make(), &b = queues.make();
  const std::uint32_t gone = a.handle;
  queues.scheduler.schedule(a);
  queues.scheduler.schedule(b);
  queues.objects.remove<Qp>(gone);
  queues.scheduler.schedule_all(std::array{gone});
  CHECK(queues.turns() == Numbers{0, b.handle});
}

TEST_CASE("hca scheduler: timers run in order, and the last time that was set counts") {
  Queues queues;
  Qp &a = queues.make(), &b = queues.make();
  CHECK_FALSE(queues.scheduler.next_timer());
  queues.scheduler.wait_until(a, 30);
  queues.scheduler.wait_until(b, 20);
  queues.scheduler.wait_until(a, 10);
  CHECK(queues.scheduler.next_timer() == 10U);
  queues.scheduler.set_time(9);
  queues.scheduler.run_timers();
  CHECK_FALSE(queues.scheduler.has_next());
  queues.scheduler.set_time(20);
  queues.scheduler.run_timers();
  CHECK(queues.turns() == Numbers{a.handle, b.handle});
  CHECK_FALSE(queues.scheduler.next_timer());
}

TEST_CASE("hca scheduler: the end of a held step does not remove a retry at the same time") {
  Queues queues;
  Qp& qp = queues.make();
  queues.scheduler.wait_until(qp, 10);
  queues.scheduler.limit_wait(qp, 10);
  queues.scheduler.limit_wait(qp, std::nullopt);
  CHECK(queues.scheduler.next_timer() == 10U);
  queues.scheduler.wait_until(qp, std::nullopt);
  CHECK_FALSE(queues.scheduler.next_timer());
}

TEST_CASE("hca scheduler: a strict engine draws the order of turns, and leaves out none") {
  Queues queues(true);
  Numbers made;
  for (int i = 0; i < 16; ++i)
    made.push_back(queues.make().handle);
  queues.scheduler.schedule_all(made);
  Numbers turns = queues.turns();
  CHECK(turns != made);
  std::ranges::sort(turns);
  CHECK(turns == made);
}

}  // namespace scheduler_test
