// Tests every algorithm with more messages than the queues of an adapter hold (O16).
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/core/analysis/checker.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace posting_test {

using namespace scela::collectives;

namespace {

// Returns the largest number of sends from any rank to one other.
std::uint32_t max_sent(const std::vector<TaskList>& lists) {
  std::uint32_t most = 0;
  for (const TaskList& list : lists) {
    std::map<int, std::uint32_t> sent;
    for (const Task& task : list.tasks)
      if (task.kind == Kind::send) most = std::max(most, ++sent[task.peer]);
  }
  return most;
}

std::size_t max_tasks(const std::vector<TaskList>& lists) {
  std::size_t most = 0;
  for (const TaskList& list : lists)
    most = std::max(most, list.tasks.size());
  return most;
}

Shape shape_for(const Algorithm& algorithm, int ranks, std::uint32_t segments) {
  Shape shape;
  shape.operation = algorithm.operation;
  shape.ranks = ranks;
  if (algorithm.has_segments) shape.segments = segments;
  if (algorithm.has_nodes) shape.nodes = placements(ranks, std::max(1, ranks / 3))[2].nodes;
  return shape;
}

void prove_at_depth(const Algorithm& algorithm, const Shape& shape,
                    const std::vector<TaskList>& lists) {
  if (const auto good = check_posting(lists, QueueDepths()); !good)
    FAIL(text(algorithm, shape) << ": " << good.error().text());
  SUCCEED();
}

}  // namespace

TEST_CASE(
    "posting: every algorithm with segments comes to its end beyond the depth of its queues") {
  const QueueDepths depths;
  for (const Algorithm& each : algorithms()) {
    if (!each.has_segments) continue;
    std::uint32_t sent = 0;
    for (const int ranks : {2, 3, 4, 7, 9}) {
      for (const std::uint32_t segments : {129u, 300u}) {
        const Shape shape = shape_for(each, ranks, segments);
        if (each.fits != nullptr && !each.fits(shape)) continue;
        const auto lists = lists_of(each, shape);
        prove_at_depth(each, shape, lists);
        sent = std::max(sent, max_sent(lists));
      }
    }
    INFO(each.name);
    CHECK(sent > depths.messages);
  }
}

// Without segments, algorithms have few messages with each peer for any number of ranks. The
// exceptions are the forms that have a message for each block.
TEST_CASE(
    "posting: every algorithm comes to its end with more ranks than its queues hold messages") {
  const QueueDepths depths;
  std::set<std::string_view> beyond;
  for (const Algorithm& each : algorithms()) {
    for (const int ranks : {130, 258, 400}) {
      if (ranks == 400 && !each.name.starts_with("eager-")) continue;
      const Shape shape = shape_for(each, ranks, 1);
      if (each.fits != nullptr && !each.fits(shape)) continue;
      // A ring in parts has as many lists as ranks. Each list has a message for each rank.
      if (each.parts != nullptr && ranks > 130) continue;
      const auto lists = lists_of(each, shape);
      prove_at_depth(each, shape, lists);
      if (max_sent(lists) > depths.messages) beyond.insert(each.name);
    }
  }
  for (const std::string_view name :
       {"eager-standard-exchange", "eager-ring", "eager-bruck", "rendezvous-ring", "ring"}) {
    INFO(name);
    CHECK(beyond.contains(name));
  }
}

TEST_CASE("posting: lists of more tasks than the management queue holds come to their ends") {
  const QueueDepths depths;
  for (const auto& [operation, name] :
       {std::pair{Operation::alltoall, "flat"}, std::pair{Operation::alltoall, "pairwise"},
        std::pair{Operation::allgather, "direct"}}) {
    const Algorithm& each = algorithm(operation, name);
    const Shape shape = shape_for(each, 520, 1);
    const auto lists = lists_of(each, shape);
    CHECK(max_tasks(lists) > depths.tasks);
    prove_at_depth(each, shape, lists);
  }
}

}  // namespace posting_test
