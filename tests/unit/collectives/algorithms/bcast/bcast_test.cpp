#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "collectives/algorithms/tree.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace bcast_test {

using namespace scela::collectives;

namespace {

// Two segments are posted at a time, so every second one comes a round later.
std::uint32_t rounds_of_tree(const Tree& tree, const Shape& shape) {
  if (shape.ranks == 1) return 0;
  return static_cast<std::uint32_t>(depth(tree)) + (shape.segments - 1) / 2;
}

void count_tree(const Algorithm& algorithm, const Shape& shape, const Counts& counts) {
  const auto others = static_cast<std::uint32_t>(shape.ranks - 1);
  CHECK(counts.messages == others * shape.segments);
  CHECK(counts.blocks == others * shape.segments);
  const std::uint32_t rounds = rounds_of_tree(tree_of(algorithm, shape), shape);
  CHECK(counts.rounds == (algorithm.name == "sequential" ? others * rounds : rounds));
}

void count_ring(const Algorithm& algorithm, const Shape& shape, const Counts& counts) {
  const Tree tree = tree_of(algorithm, shape);
  std::uint64_t messages = 0;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    if (rank == shape.root) continue;
    messages += 1 + static_cast<std::uint64_t>(shape.ranks - subtree(tree, rank));
  }
  CHECK(counts.messages == messages);
  // No rank gets a part twice.
  const auto ranks = static_cast<std::uint64_t>(shape.ranks);
  CHECK(counts.blocks == (ranks - 1) * ranks * shape.segments);
  CHECK(counts.rounds <= static_cast<std::uint32_t>(depth(tree) + shape.ranks - 1));
}

}  // namespace

TEST_CASE("bcast: everyone gets the message, in as few messages and rounds as there can be") {
  for (const int ranks : rank_counts()) {
    for (const int root : roots(ranks)) {
      each_shape(Operation::bcast, ranks, [&](const Algorithm& algorithm, Shape shape) {
        shape.root = root;
        INFO(text(algorithm, shape));
        const Counts counts = prove(algorithm, shape);
        algorithm.parts != nullptr ? count_ring(algorithm, shape, counts)
                                   : count_tree(algorithm, shape, counts);
        shape.in_place = true;  // bcast ignores it
        if (ranks < 20) prove(algorithm, shape);
      });
    }
  }
}

TEST_CASE("bcast: a segment is passed on before the next is waited for") {
  for (const std::string_view name : {"binary", "binomial", "chain", "k-nomial"}) {
    const Algorithm& each = algorithm(Operation::bcast, name);
    const Shape shape{
        .operation = Operation::bcast, .ranks = 29, .root = 3, .segments = 7, .radix = 4};
    for (int rank = 0; rank < shape.ranks; ++rank) {
      const TaskList list = each.build(shape, rank);
      INFO(name << " rank " << rank << "\n" << to_text(list));
      CHECK(max_posted(list) == (rank == shape.root ? 0 : 2));
      const auto below = children(tree_of(each, shape), rank).size();
      std::uint32_t here = rank == shape.root ? shape.segments : 0;
      std::size_t sent = 0;
      for (const Task& task : list.tasks) {
        if (task.kind == Kind::send) {
          CHECK(task.from.first < here);
          ++sent;
        }
        if (task.kind == Kind::wait_received) {
          CHECK(sent == here * below);
          ++here;
        }
      }
      CHECK(sent == shape.segments * below);
    }
  }
}

TEST_CASE("bcast: segments of unequal sizes, and empty ones, fit") {
  for (const int ranks : {1, 2, 7, 16, 33}) {
    for (const int root : roots(ranks)) {
      each_shape(Operation::bcast, ranks, [&](const Algorithm& algorithm, Shape shape) {
        shape.root = root;
        const std::uint32_t parts = algorithm.parts == nullptr ? 1 : algorithm.parts(shape);
        std::vector<std::uint64_t> sizes;
        for (std::uint32_t block = 0; block < parts * shape.segments; ++block)
          sizes.push_back(block * 7 % 4);
        prove_sizes(algorithm, shape, sizes);
      });
    }
  }
}

TEST_CASE("bcast: a sequential root begins with one rank when the one before it has all") {
  const Algorithm& each = algorithm(Operation::bcast, "sequential");
  const TaskList list =
      each.build({.operation = Operation::bcast, .ranks = 9, .root = 4, .segments = 3}, 4);
  std::set<int> served;
  int current = -1;
  std::uint32_t outstanding = 0;
  for (const Task& task : list.tasks) {
    if (task.kind == Kind::wait_sent) outstanding -= task.count;
    if (task.kind != Kind::send) continue;
    if (task.peer != current) CHECK(outstanding == 0);
    ++outstanding;
    current = task.peer;
    served.insert(current);
  }
  CHECK(outstanding == 0);
  CHECK(served.size() == 8);
}

}  // namespace bcast_test
