// The eager and the rendezvous form of allgathers.
#include "collectives/algorithms/allgather/forms.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "collectives/algorithms/allgather/allgather.h"
#include "collectives/core/steps.h"
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

// O23. Offload thesis, Table 4.1: "Eager protocol task list for rank 0 in single-port standard
// exchange among 8 ranks".
TEST_CASE("allgather: an eager standard exchange of 8 ranks is Table 4.1") {
  const Shape shape{.operation = Operation::allgather, .ranks = 8};
  const Algorithm& eager = algorithm(Operation::allgather, "eager-standard-exchange");
  CHECK(steps_text(eager.build(shape, 0)) ==
        "Step 0   recv from 1\n"
        "         send to 1\n"
        "         wait (1 recv CQ) from 1\n"
        "Step 1   recv from 2\n"
        "         recv from 2\n"
        "         send to 2\n"
        "         send to 2\n"
        "         wait (2 recv CQ) from 2\n"
        "Step 2   recv from 4\n"
        "         recv from 4\n"
        "         recv from 4\n"
        "         recv from 4\n"
        "         send to 4\n"
        "         send to 4\n"
        "         send to 4\n"
        "         send to 4\n"
        "         wait (4 recv CQ) from 4\n");
  // In one piece, a step has one of each.
  const Algorithm& whole = algorithm(Operation::allgather, "standard-exchange");
  CHECK(steps_text(whole.build(shape, 5)) ==
        "Step 0   recv from 4\n"
        "         send to 4\n"
        "         wait (1 recv CQ) from 4\n"
        "Step 1   recv from 7\n"
        "         send to 7\n"
        "         wait (1 recv CQ) from 7\n"
        "Step 2   recv from 1\n"
        "         send to 1\n"
        "         wait (1 recv CQ) from 1\n");
}

TEST_CASE("steps of a list: held sends stand where they are enabled, ports in one step") {
  const auto list = parse(
      "blocks in 1 out 3 scratch 0\nreceive 1 -> out[1]\nreceive 2 -> out[2]\n"
      "send 1 <- in[0] held\nsend 2 <- in[0]\nenable 1 1\nwait received 2 1\nwait received 1 1\n"
      "send 1 <- in[0]\nwait sent 1 2\nwait sent 2 1\nsignal\n");
  REQUIRE(list);
  CHECK(steps_text(*list) ==
        "Step 0   recv from 2\n"
        "         recv from 1\n"
        "         send to 2\n"
        "         send to 1\n"
        "         wait (1 recv CQ) from 2\n"
        "         wait (1 recv CQ) from 1\n"
        "Step 1   send to 1\n");
  CHECK(steps_text({}).empty());
}

// O23.
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
      // Every block has an eager buffer of its own, and nothing else is received into or sent.
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

// O24.
TEST_CASE("allgather: rendezvous forms have a clearance for each message, and copy nothing more") {
  each_form("rendezvous-", [](const Algorithm& whole, const Algorithm& other, const Shape& shape) {
    const Counts expected = prove(whole, shape);
    const Counts counts = prove(other, shape);
    // As many without bytes as edges.
    CHECK(counts.messages == 2 * expected.messages);
    CHECK(counts.blocks == expected.blocks);
    CHECK(counts.rounds <= expected.rounds + 1);
    CHECK(counts.peers == expected.peers);
    for (int rank = 0; rank < shape.ranks; ++rank) {
      const TaskList list = other.build(shape, rank);
      const TaskList plain = whole.build(shape, rank);
      CHECK(tasks_of(list, Kind::copy) == tasks_of(plain, Kind::copy));
      CHECK(std::ranges::equal(list.blocks, plain.blocks));
      // No data are sent before their receiver's clearance has been waited for.
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
