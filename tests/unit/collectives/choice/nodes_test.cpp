// Tests what the standard table chooses if ranks share nodes. The simulator's times are compared
// with those of the row that it would choose otherwise.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/choice/choice.h"
#include "collectives/core/analysis/loggp.h"
#include "collectives/core/block_layout.h"
#include "common/core/text.h"

namespace nodes_test {

using namespace scela;
using namespace scela::collectives;

namespace {

// Returns a machine with times in nanoseconds. The network is a current adapter, or sockets over a
// slower one. The memory of a node is the same in both.
Machine machine(bool is_fast, bool in_blocks, int nodes, int per_node) {
  Machine machine;
  machine.network = is_fast ? LogGP{1500, 300, 100, 0.1} : LogGP{15000, 3000, 500, 0.8};
  machine.node = {150, 100, 20, 0.1};
  machine.copy_per_byte = 0.1;
  machine.reduce_per_byte = 0.15;
  machine.node_of = [=](int rank) { return in_blocks ? rank / per_node : rank % nodes; };
  return machine;
}

Question asked(Operation operation, int nodes, int per_node, std::uint64_t bytes) {
  Question question;
  question.operation = operation;
  question.ranks = nodes * per_node;
  question.nodes = nodes;
  question.bytes = bytes;
  return question;
}

// Returns the time until the last rank is done.
double time_of(const Row& row, const Question& question, const Machine& machine) {
  const Choice choice = choice_of(row, question);
  Shape shape;
  shape.operation = question.operation;
  shape.ranks = question.ranks;
  shape.segments = choice.segments;
  shape.radix = choice.radix;
  std::vector<int> node_of;
  for (int rank = 0; rank < question.ranks; ++rank)
    node_of.push_back(machine.node_of(rank));
  if (choice.algorithm->has_nodes) shape.nodes = std::make_shared<const NodeMap>(node_of);
  const auto parts = choice.algorithm->parts;
  const std::uint32_t cut = shape.segments * (parts == nullptr ? 1 : parts(shape));
  std::vector<TaskList> lists;
  std::vector<Layout> layouts;
  for (int rank = 0; rank < question.ranks; ++rank) {
    lists.push_back(choice.algorithm->build(shape, rank));
    Layout& layout = layouts.emplace_back();
    for (std::size_t space = 0; space < layout.spaces.size(); ++space)
      layout.spaces[space] =
          BlockSizes::equal(lists.back().blocks[space], (*question.bytes + cut - 1) / cut);
  }
  const auto done = simulate(lists, layouts, machine);
  if (!done) FAIL(done.error().text());
  return *std::ranges::max_element(*done);
}

// Returns the first row that does not ask how many ranks a node has.
const Row& otherwise(const Question& question) {
  for (const Row& row : Table::standard().rows())
    if (row.per_node.is_all() && row.operation == question.operation &&
        row.ranks.holds(static_cast<std::uint64_t>(question.ranks)) &&
        row.bytes.holds(*question.bytes) && can(*row.algorithm, question, row.radix))
      return row;
  FAIL("no other row");
  throw 0;
}

constexpr Operation kOperations[] = {Operation::barrier,   Operation::bcast,   Operation::reduce,
                                     Operation::allreduce, Operation::gather,  Operation::scatter,
                                     Operation::allgather, Operation::alltoall};
constexpr std::uint64_t kBytes[] = {0, 8, 256, 1024, 4096, 16384, 65536, 262144, 1048576};

}  // namespace

// Ranks are placed in blocks, or round robin over the nodes.
TEST_CASE(
    "choice: operations by nodes are chosen, and faster in the simulator, if ranks share nodes") {
  struct Times {
    double sum = 0;  // of ratios to the other row's time
    int count = 0;
  };
  std::map<Operation, Times> by_nodes;
  for (const Operation operation : kOperations)
    for (const auto& [nodes, per_node] : {std::pair{2, 2},
                                          {2, 3},
                                          {3, 3},
                                          {3, 2},
                                          {5, 3},
                                          {4, 4},
                                          {2, 8},
                                          {8, 8},
                                          {16, 4},
                                          {4, 16}})
      for (const std::uint64_t bytes : kBytes) {
        const Question question = asked(operation, nodes, per_node, bytes);
        const Row& row = *Table::standard().find(question);
        if (!row.algorithm->has_nodes) continue;
        const Row& other = otherwise(question);
        for (const bool is_fast : {true, false})
          for (const bool in_blocks : {true, false}) {
            INFO(to_text(row) << " for " << bytes << " bytes on " << nodes << " nodes of "
                              << per_node << (in_blocks ? " in blocks" : " in turn")
                              << ", instead of " << to_text(other));
            const Machine here = machine(is_fast, in_blocks, nodes, per_node);
            const double ratio = time_of(row, question, here) / time_of(other, question, here);
            CHECK(ratio <= 1.15);
            by_nodes[operation].sum += ratio;
            ++by_nodes[operation].count;
          }
      }
  REQUIRE(by_nodes.size() == 3);
  for (const Operation operation : {Operation::barrier, Operation::bcast, Operation::reduce}) {
    INFO(name_of(operation));
    REQUIRE(by_nodes[operation].count > 0);
    CHECK(by_nodes[operation].sum / by_nodes[operation].count < 0.95);
  }
}

TEST_CASE("choice: no operation goes by nodes if each rank has its own node or all share one") {
  for (const Row& row : Table::standard().rows()) {
    CAPTURE(to_text(row));
    CHECK(row.algorithm->has_nodes == !row.per_node.is_all());
  }
  for (const Operation operation : kOperations)
    for (const int ranks : {1, 2, 3, 4, 7, 8, 16, 64})
      for (const std::uint64_t bytes : kBytes)
        for (const int nodes : {1, ranks}) {
          const Question question = asked(operation, nodes, ranks / nodes, bytes);
          CHECK_FALSE(Table::standard().find(question)->algorithm->has_nodes);
        }
  // Reductions that do not commute stay in order.
  for (const Operation operation : {Operation::reduce, Operation::allreduce})
    for (const std::uint64_t bytes : kBytes) {
      Question question = asked(operation, 4, 4, bytes);
      question.commutes = false;
      const Row& row = *Table::standard().find(question);
      CHECK(row.algorithm->any_order);
      CHECK_FALSE(row.algorithm->has_nodes);
    }
}

}  // namespace nodes_test
