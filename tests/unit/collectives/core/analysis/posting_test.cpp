// Tests lists on queues of limited size. A message without room holds up others behind it, but
// holds up nothing if it waits beside its queue.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/core/analysis/checker.h"
#include "common/core/random.h"
#include "tests/unit/collectives/core/analysis/hand_written.h"

namespace scela::collectives::posting_test {
namespace {

std::vector<TaskList> lists_by(Operation operation, std::string_view name, int ranks,
                               std::uint32_t segments = 1) {
  const Algorithm* const algorithm = find(operation, name);
  REQUIRE(algorithm != nullptr);
  Shape shape = shape_of(operation, ranks);
  shape.segments = segments;
  std::vector<TaskList> lists;
  for (int rank = 0; rank < ranks; ++rank)
    lists.push_back(algorithm->build(shape, rank));
  return lists;
}

// Returns an empty text if all lists come to their ends.
std::string stuck(const std::vector<TaskList>& lists, const QueueDepths& depths, NoRoom rule) {
  const auto good = check_posting(lists, depths, {}, rule);
  return good ? "" : good.error().why;
}

void only_beside(const std::vector<TaskList>& lists) {
  CHECK(stuck(lists, {}, NoRoom::holds_up) != "");
  CHECK(stuck(lists, {}, NoRoom::beside) == "");
}

void either_way(const std::vector<TaskList>& lists) {
  CHECK(stuck(lists, {}, NoRoom::holds_up) == "");
  CHECK(stuck(lists, {}, NoRoom::beside) == "");
}

TEST_CASE(
    "posting: a ring of more segments than a queue holds goes on, though sends have no room") {
  // Two receives of each are announced before the first send.
  either_way(lists_by(Operation::allgather, "ring", 2, 130));
  only_beside(lists_by(Operation::allgather, "ring", 2, 131));
  const auto lists = lists_by(Operation::allgather, "ring", 2, 171);
  CHECK(stuck(lists, {}, NoRoom::holds_up) ==
        "rank 0, posted task 134 'send 1 out@130+1' finds no room, which is made by rank 1; "
        "rank 1, posted task 134 'send 0 out@301+1' finds no room, which is made by rank 0");
  only_beside(lists);
  only_beside(lists_by(Operation::allgather, "ring", 7, 256));
  only_beside(lists_by(Operation::allreduce, "ring", 2, 256));
}

TEST_CASE("posting: forms with a message for each block go on with more ranks than queues hold") {
  either_way(lists_by(Operation::allgather, "eager-standard-exchange", 256));
  only_beside(lists_by(Operation::allgather, "eager-standard-exchange", 258));
  either_way(lists_by(Operation::allgather, "rendezvous-ring", 129));
  only_beside(lists_by(Operation::allgather, "rendezvous-ring", 130));
}

TEST_CASE("posting: a circle of many ranks is refused with its length") {
  const std::string why =
      stuck(lists_by(Operation::allgather, "ring", 9, 200), {}, NoRoom::holds_up);
  CHECK(why.ends_with("... in a circle of 9 ranks"));
}

TEST_CASE("posting: messages one way go on however long the list") {
  either_way(lists_by(Operation::bcast, "chain", 3, 1000));
}

TEST_CASE("posting: lists that wait for each other are refused whatever their queues hold") {
  const auto rank = [](const std::string& peer) {
    return "blocks in 0 out 0 scratch 0\nsend " + peer + " <- out[0+0]\nwait sent " + peer +
           " 1\nreceive " + peer + " -> out[0+0]\nwait received " + peer + " 1\nsignal\n";
  };
  CHECK(stuck(lists_of({rank("1"), rank("0")}), {}, NoRoom::beside) ==
        "rank 0, posted task 1 'wait sent 1 1' waits for rank 1; "
        "rank 1, posted task 1 'wait sent 0 1' waits for rank 0");
}

// ---- any lists, any depths ----

QueueDepths some_depths(Random& random) {
  QueueDepths depths;
  depths.messages = static_cast<std::uint32_t>(random.between(1, 4));
  depths.tasks = static_cast<std::uint32_t>(random.between(1, 20));
  depths.copies = static_cast<std::uint32_t>(random.between(1, 3));
  depths.announcements = depths.tasks + static_cast<std::uint32_t>(random.between(1, 3));
  return depths;
}

// Returns lists of a few ranks that begin messages of no bytes with each other, and wait for them,
// in any order.
std::vector<TaskList> random_lists(Random& random) {
  const int ranks = static_cast<int>(random.between(2, 4));
  std::vector<TaskList> lists(static_cast<std::size_t>(ranks));
  // Inserts a task into the rank's list at a random place, and its wait somewhere behind it.
  const auto add = [&](int rank, Task task) {
    std::vector<Task>& tasks = lists[static_cast<std::size_t>(rank)].tasks;
    const std::size_t at = random.below(tasks.size() + 1);
    tasks.insert(tasks.begin() + static_cast<std::ptrdiff_t>(at), task);
    const bool sends = task.kind == Kind::send;
    const std::size_t behind = random.between(at + 1, tasks.size());
    tasks.insert(tasks.begin() + static_cast<std::ptrdiff_t>(behind),
                 sends ? wait_sent(task.peer) : wait_received(task.peer));
  };
  for (std::uint64_t left = random.between(1, 30); left > 0; --left) {
    const int from = static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
    const int step = static_cast<int>(random.between(1, static_cast<std::uint64_t>(ranks - 1)));
    const int to = (from + step) % ranks;
    add(from, send(to, {Space::output, 0, 0}));
    add(to, receive(from, {Space::output, 0, 0}));
  }
  return lists;
}

TEST_CASE("posting: lists that the checker proves end on queues of any depth, at random") {
  Random random(7);
  int proved = 0;
  int held_up = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::vector<TaskList> lists = random_lists(random);
    const bool good =
        check(shape_of(Operation::barrier, static_cast<int>(lists.size())), lists).has_value();
    const QueueDepths depths = some_depths(random);
    // Exactly the lists that are stuck on unlimited queues are stuck on these.
    if ((stuck(lists, depths, NoRoom::beside) == "") != good)
      FAIL(to_text(lists[0]) << to_text(lists[1]) << stuck(lists, depths, NoRoom::beside));
    if (!good) continue;
    ++proved;
    if (stuck(lists, depths, NoRoom::holds_up) != "") ++held_up;
  }
  // The test does meet lists that are held up.
  CHECK(proved > 1000);
  CHECK(held_up > 100);
}

}  // namespace
}  // namespace scela::collectives::posting_test
