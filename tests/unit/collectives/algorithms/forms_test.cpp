// Tests the eager and the rendezvous form of allgathers.
#include "collectives/algorithms/allgather/forms.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "collectives/algorithms/allgather/allgather.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace forms_test {

using namespace scela::collectives;

namespace {

constexpr std::string_view kNames[] = {"bruck", "ring", "standard-exchange"};

std::size_t tasks_of(const TaskList& list, Kind kind) {
  return static_cast<std::size_t>(std::ranges::count(list.tasks, kind, &Task::kind));
}

template <typename Act>
void each_form(std::string_view form, Act act) {
  for (const int ranks : {1, 2, 3, 5, 8, 9, 16, 27, 31, 64, 100}) {
    for (const std::string_view name : kNames) {
      const Algorithm& whole = algorithm(Operation::allgather, name);
      const Algorithm& other =
          algorithm(Operation::allgather, std::string(form) + std::string(name));
      Shape shape{.operation = Operation::allgather, .ranks = ranks};
      for (const std::uint32_t more : {0u, 1u, 2u}) {
        (whole.has_radix ? shape.radix : shape.segments) = (whole.has_radix ? 2 : 1) + more;
        INFO(text(other, shape));
        act(whole, other, shape);
      }
    }
  }
}

}  // namespace

// Offload thesis, Table 4.1, "Eager protocol task list for rank 0 in single-port standard exchange
// among 8 ranks": the list has as many tasks of each kind with each peer. Here all receives are
// posted first, so the order differs from the table's (O23).
TEST_CASE("allgather: an eager standard exchange of 8 ranks has the messages of Table 4.1") {
  const Shape shape{.operation = Operation::allgather, .ranks = 8};
  const TaskList list = algorithm(Operation::allgather, "eager-standard-exchange").build(shape, 0);
  std::map<std::pair<Kind, int>, int> tasks, counted;
  for (const Task& task : list.tasks) {
    ++tasks[{task.kind, task.peer}];
    counted[{task.kind, task.peer}] += static_cast<int>(task.count);
  }
  for (const auto& [peer, messages] : {std::pair{1, 1}, {2, 2}, {4, 4}}) {
    CHECK(tasks[{Kind::receive, peer}] == messages);
    CHECK(tasks[{Kind::send, peer}] == messages);
    CHECK(counted[{Kind::wait_received, peer}] == messages);
  }
  CHECK(tasks_of(list, Kind::receive) == 7);
  CHECK(tasks_of(list, Kind::send) == 7);
}

// Requirement O23 (docs/coverage.md).
TEST_CASE("allgather: eager forms have a message for each block, in the rounds of the whole") {
  each_form("eager-", [](const Algorithm& whole, const Algorithm& eager, const Shape& shape) {
    const Counts expected = prove(whole, shape);
    const Counts counts = prove(eager, shape);
    CHECK(counts.messages == counts.blocks);
    CHECK(counts.blocks == expected.blocks);
    CHECK(counts.rounds == expected.rounds);
    CHECK(counts.peers == expected.peers);
    for (int rank = 0; rank < std::min(shape.ranks, 9); ++rank) {
      const TaskList list = eager.build(shape, rank);
      // Each block has its own eager buffer, and only these buffers are received into or sent from.
      std::map<std::uint32_t, int> buffers;
      for (const Task& task : list.tasks) {
        if (task.kind == Kind::receive) ++buffers[task.to.first];
        if (task.kind == Kind::receive && (task.to.space != Space::scratch || task.to.count != 1))
          FAIL("rank " << rank << ": " << to_text(task));
        if (task.kind == Kind::send && (task.from.space != Space::scratch || task.from.count != 1))
          FAIL("rank " << rank << ": " << to_text(task));
      }
      CHECK(buffers.size() == (static_cast<std::size_t>(shape.ranks) - 1) * shape.segments);
      for (const auto& [buffer, count] : buffers)
        if (count != 1) FAIL("rank " << rank << ": buffer " << buffer);
    }
  });
}

// Requirement O24 (docs/coverage.md).
TEST_CASE("allgather: rendezvous forms have a clearance for each message, and copy nothing more") {
  each_form("rendezvous-", [](const Algorithm& whole, const Algorithm& other, const Shape& shape) {
    const Counts expected = prove(whole, shape);
    const Counts counts = prove(other, shape);
    // There are as many messages without bytes as messages with bytes.
    CHECK(counts.messages == 2 * expected.messages);
    CHECK(counts.blocks == expected.blocks);
    CHECK(counts.rounds <= expected.rounds + 1);
    CHECK(counts.peers == expected.peers);
    for (int rank = 0; rank < shape.ranks; ++rank) {
      const TaskList list = other.build(shape, rank);
      const TaskList plain = whole.build(shape, rank);
      CHECK(tasks_of(list, Kind::copy) == tasks_of(plain, Kind::copy));
      CHECK(std::ranges::equal(list.blocks, plain.blocks));
      // The list waits for a receiver's clearance before it sends data to it.
      std::map<int, int> cleared;
      for (const Task& task : list.tasks) {
        if (task.kind == Kind::wait_received) cleared[task.peer] += static_cast<int>(task.count);
        if (task.kind == Kind::send && task.from.count > 0 && --cleared[task.peer] < 0)
          FAIL("rank " << rank << ": " << to_text(task));
      }
    }
  });
}

TEST_CASE("allgather: a rendezvous of standard exchange or ring receives into the output at once") {
  for (const std::string_view name : {"rendezvous-ring", "rendezvous-standard-exchange"}) {
    const Shape shape{.operation = Operation::allgather, .ranks = 11, .in_place = true};
    const TaskList list = algorithm(Operation::allgather, name).build(shape, 4);
    CHECK(list.blocks[static_cast<std::size_t>(Space::scratch)] == 0);
    CHECK(tasks_of(list, Kind::copy) == 0);
  }
}

}  // namespace forms_test
