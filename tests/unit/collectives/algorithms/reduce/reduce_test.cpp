#include <algorithm>
#include <catch2/catch.hpp>

#include "collectives/algorithms/tree.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace reduce_test {

using namespace scela::collectives;

namespace {

std::uint64_t messages_of(const Algorithm& algorithm, const Shape& shape) {
  const auto others = static_cast<std::uint64_t>(shape.ranks - 1);
  if (algorithm.name == "flat") return others * shape.segments;
  if (algorithm.name == "sequential") return others * shape.segments + others;
  const bool is_moved = !shape.commutes && shape.root != 0;
  return (others + (is_moved ? 1 : 0)) * shape.segments;
}

// Checks the rounds of a whole message. If a rank has so few children that all are posted at once,
// the rounds are the path from the farthest leaf.
void count_rounds(const Algorithm& algorithm, const Shape& shape, const Counts& counts) {
  const std::uint32_t moved = !shape.commutes && shape.root != 0 ? 1 : 0;
  const auto others = static_cast<std::uint32_t>(shape.ranks - 1);
  if (algorithm.name == "chain") CHECK(counts.rounds == others + moved);
  if (algorithm.name == "binary")
    CHECK(counts.rounds == static_cast<std::uint32_t>(depth(binary_tree(shape))) + moved);
  if (algorithm.name == "binomial")
    CHECK(counts.rounds <= static_cast<std::uint32_t>(ceil_log(shape.ranks, 2)) + moved);
  if (algorithm.name == "sequential") CHECK(counts.rounds == 2 * others);
}

}  // namespace

TEST_CASE("reduce: the root gets the sum of all, in order where that matters") {
  for (const int ranks : rank_counts()) {
    for (const int root : roots(ranks)) {
      each_shape(Operation::reduce, ranks, [&](const Algorithm& algorithm, Shape shape) {
        shape.root = root;
        for (const int variant : {0, 1, 2, 3}) {
          shape.in_place = variant % 2 == 1;
          shape.commutes = variant < 2;
          // These lists are the same as for reductions that do not commute, which are all checked.
          const bool is_flat = algorithm.name == "flat" || algorithm.name == "sequential";
          if (shape.commutes && (root == 0 || is_flat)) continue;
          INFO(text(algorithm, shape));
          const Counts counts = prove(algorithm, shape);
          if (counts.messages != messages_of(algorithm, shape)) CHECK(counts.messages == 0);
          if (shape.segments == 1) count_rounds(algorithm, shape, counts);
        }
      });
    }
  }
}

TEST_CASE("reduce: an algorithm that keeps operands in order has one list for all reductions") {
  for (const int root : {0, 5}) {
    each_shape(Operation::reduce, 12, [&](const Algorithm& algorithm, Shape shape) {
      shape.root = root;
      const auto any = lists_of(algorithm, shape);
      shape.commutes = false;
      const bool is_flat = algorithm.name == "flat" || algorithm.name == "sequential";
      CHECK((lists_of(algorithm, shape) == any) == (root == 0 || is_flat));
    });
  }
}

TEST_CASE("reduce: memory and posted receives stay few, however many the ranks") {
  each_shape(Operation::reduce, 1000, [&](const Algorithm& algorithm, Shape shape) {
    shape.segments = 5;
    shape.root = 7;
    for (int rank = 0; rank < shape.ranks; ++rank) {
      const TaskList list = algorithm.build(shape, rank);
      INFO(text(algorithm, shape) << ", rank " << rank);
      if (list.blocks[static_cast<std::size_t>(Space::scratch)] > 3 * shape.segments)
        FAIL("more than three messages' memory");
      CHECK(max_posted(list) <= 2);  // from one rank
    }
  });
}

TEST_CASE("reduce: a segment is passed on before the next is waited for") {
  for (const std::string_view name : {"binary", "binomial", "chain", "k-nomial"}) {
    const Algorithm& each = algorithm(Operation::reduce, name);
    const Shape shape{.operation = Operation::reduce, .ranks = 40, .segments = 6, .radix = 8};
    for (int rank = 1; rank < shape.ranks; ++rank) {
      std::uint32_t sent = 0;
      std::uint32_t waited = 0;
      const TaskList list = each.build(shape, rank);
      const auto sources = static_cast<std::uint32_t>(
          std::ranges::count(list.tasks, Kind::receive, &Task::kind) / shape.segments);
      for (const Task& task : list.tasks) {
        if (task.kind == Kind::send) ++sent;
        if (task.kind != Kind::wait_received) continue;
        if (sent != waited / sources) FAIL(name << " rank " << rank << " keeps a segment");
        ++waited;
      }
      CHECK(sent == shape.segments);
    }
  }
}

TEST_CASE("reduce: segments of unequal sizes, and empty ones, fit") {
  for (const int ranks : {1, 2, 7, 16, 33}) {
    for (const int root : roots(ranks)) {
      each_shape(Operation::reduce, ranks, [&](const Algorithm& algorithm, Shape shape) {
        shape.root = root;
        std::vector<std::uint64_t> sizes;
        for (std::uint32_t block = 0; block < shape.segments; ++block)
          sizes.push_back(block * 7 % 4);
        for (const int variant : {0, 1, 2, 3}) {
          shape.in_place = variant % 2 == 1;
          shape.commutes = variant < 2;
          prove_sizes(algorithm, shape, sizes);
        }
      });
    }
  }
}

}  // namespace reduce_test
