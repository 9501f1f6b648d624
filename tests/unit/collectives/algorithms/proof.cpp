#include "tests/unit/collectives/algorithms/proof.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/algorithms/scratch.h"
#include "collectives/core/analysis/checker.h"
#include "collectives/core/block_layout.h"

namespace scela::collectives {

namespace {

std::uint32_t parts_of(const Algorithm& algorithm, const Shape& shape) {
  return algorithm.parts == nullptr ? 1 : algorithm.parts(shape);
}

// Returns the sizes of blocks 0, 1, ... of a space. `size` gives the size of each.
template <typename Size>
BlockSizes sizes_of(std::uint32_t count, Size size) {
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t block = 0; block < count; ++block)
    sizes.push_back(size(block));
  return BlockSizes::packed(sizes);
}

Layout layout_of(const Shape& shape, int rank, std::uint32_t cut, const TaskList& list,
                 const std::vector<std::uint64_t>& sizes) {
  const bool by_rank =
      shape.operation == Operation::gather || shape.operation == Operation::scatter ||
      shape.operation == Operation::allgather || shape.operation == Operation::reduce_scatter;
  const auto size = [&](std::uint32_t block) { return sizes[block]; };
  // Returns the block's size in a space that has only one rank's blocks. In some operations, each
  // rank has blocks of its own.
  const auto own = [&](std::uint32_t block) {
    return sizes[by_rank ? static_cast<std::uint32_t>(rank) * cut + block : block];
  };
  const auto given = [&](Space space) {
    const std::uint32_t count = list.blocks[static_cast<std::size_t>(space)];
    return count > cut ? sizes_of(count, size) : sizes_of(count, own);
  };
  Layout layout;
  layout.spaces[static_cast<std::size_t>(Space::input)] = given(Space::input);
  layout.spaces[static_cast<std::size_t>(Space::output)] = given(Space::output);
  layout.spaces[static_cast<std::size_t>(Space::scratch)] =
      sizes_of(list.blocks[static_cast<std::size_t>(Space::scratch)],
               [&](std::uint32_t block) { return sizes[like(shape, rank, cut, block)]; });
  return layout;
}

// Posts the lists as an adapter with very short queues does. Larger numbers of ranks repeat the
// same patterns and would show nothing more.
void prove_posting(const Algorithm& algorithm, const Shape& shape,
                   const std::vector<TaskList>& lists) {
  if (shape.ranks > 34 && shape.ranks != 64) return;
  const QueueDepths small{.messages = 1, .announcements = 4, .tasks = 3, .copies = 2};
  if (const auto good = check_posting(lists, small); !good)
    FAIL(text(algorithm, shape) << ": " << good.error().text());
}

}  // namespace

std::string text(const Algorithm& algorithm, const Shape& shape) {
  std::string text(name_of(algorithm.operation));
  text += " by " + std::string(algorithm.name);
  text += ", ranks " + std::to_string(shape.ranks) + ", root " + std::to_string(shape.root);
  text += ", segments " + std::to_string(shape.segments);
  text += ", radix " + std::to_string(shape.radix);
  if (shape.split > 0) text += ", split " + std::to_string(shape.split);
  if (shape.nodes != nullptr) text += ", nodes " + std::to_string(shape.nodes->nodes());
  return text + (shape.in_place ? ", in place" : "") + (shape.commutes ? "" : ", in order");
}

std::vector<Placed> placements(int ranks, int width) {
  std::vector<Placed> found;
  const auto add = [&](const std::string& how, auto node_of) {
    std::vector<int> nodes;
    for (int rank = 0; rank < ranks; ++rank)
      nodes.push_back(node_of(rank));
    found.push_back({how, std::make_shared<const NodeMap>(nodes)});
  };
  add("one node", [](int) { return 7; });
  add("a node each", [](int rank) { return 1000 - rank; });
  add("in blocks", [&](int rank) { return rank / width; });
  add("round robin", [&](int rank) { return rank % width; });
  add("uneven", [&](int rank) {
    if (rank % 5 == 3) return -1;
    int node = 0;
    for (int first = 0; first + node + 1 <= rank; first += node)
      ++node;
    return node;
  });
  return found;
}

std::vector<int> up_to_130(int least) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr bool kAll = false;
#else
  constexpr bool kAll = true;
#endif
  std::vector<int> counts;
  for (int ranks = least; ranks <= 130; ++ranks)
    if (kAll || ranks <= 40 || (ranks >= 63 && ranks <= 65) || ranks >= 127)
      counts.push_back(ranks);
  return counts;
}

std::vector<TaskList> lists_of(const Algorithm& algorithm, const Shape& shape) {
  std::vector<TaskList> lists;
  for (int rank = 0; rank < shape.ranks; ++rank)
    lists.push_back(algorithm.build(shape, rank));
  return lists;
}

Counts prove(const Algorithm& algorithm, const Shape& shape) {
  const std::vector<TaskList> lists = lists_of(algorithm, shape);
  const std::uint32_t parts = parts_of(algorithm, shape);
  if (const auto good = check(shape, lists, parts); !good) {
    FAIL(text(algorithm, shape) << ": " << good.error().text());
  }
  prove_posting(algorithm, shape, lists);
  const auto counts = execute(shape, lists, parts);
  if (!counts) FAIL(text(algorithm, shape) << ": " << counts.error().text());
  SUCCEED();
  return *counts;
}

void prove_sizes(const Algorithm& algorithm, const Shape& shape,
                 const std::vector<std::uint64_t>& sizes) {
  const std::vector<TaskList> lists = lists_of(algorithm, shape);
  const std::uint32_t parts = parts_of(algorithm, shape);
  std::vector<Layout> layouts;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    layouts.push_back(layout_of(shape, rank, shape.segments * parts,
                                lists[static_cast<std::size_t>(rank)], sizes));
  }
  if (const auto good = check(shape, lists, parts, layouts); !good) {
    FAIL(text(algorithm, shape) << ": " << good.error().text());
  }
  SUCCEED();
}

std::vector<int> roots(int ranks) {
  std::vector<int> found = {0, std::min(1, ranks - 1), ranks / 2, ranks - 1};
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void each_shape(Operation operation, int ranks,
                const std::function<void(const Algorithm&, Shape)>& act) {
  for (const Algorithm& each : algorithms()) {
    if (each.operation != operation || each.has_nodes) continue;
    if (ranks > 130 && !is_for_thousands(each)) continue;
    // A ring has as many lists as ranks, and each is as long. A few ranks show the effect of
    // segments.
    const bool is_long = each.parts != nullptr && ranks > 40;
    for (const std::uint32_t segments : {1u, 2u, 5u}) {
      if (segments > 1 && (is_long || ranks > 130)) continue;
      for (const std::uint32_t radix : {2u, 3u, 4u, 8u}) {
        if (radix > 2 && !each.has_radix) continue;
        Shape shape;
        shape.operation = operation;
        shape.ranks = ranks;
        shape.segments = segments;
        shape.radix = radix;
        act(each, shape);
      }
    }
  }
}

std::vector<int> rank_counts() {
  std::vector<int> counts;
  for (const int ranks : up_to_130())
    counts.push_back(ranks);
  counts.push_back(1000);
  counts.push_back(4096);
  return counts;
}

bool is_for_thousands(const Algorithm& algorithm) {
  return algorithm.name != "chain" && algorithm.parts == nullptr;
}

const Algorithm& algorithm(Operation operation, std::string_view name) {
  const Algorithm* found = find(operation, name);
  if (found == nullptr) FAIL("no algorithm " << name);
  return *found;
}

int depth(const Tree& tree) {
  // A parent has a smaller place than its children.
  std::vector<int> levels(static_cast<std::size_t>(tree.ranks), 0);
  for (int place = 1; place < tree.ranks; ++place) {
    const int above = place_of(tree, parent(tree, rank_at(tree, place)));
    levels[static_cast<std::size_t>(place)] = levels.at(static_cast<std::size_t>(above)) + 1;
  }
  return *std::ranges::max_element(levels);
}

Tree tree_of(const Algorithm& algorithm, const Shape& shape) {
  if (algorithm.name == "chain") return chain_tree(shape);
  if (algorithm.name == "binary") return binary_tree(shape);
  if (algorithm.name == "k-nomial") return k_nomial_tree(shape);
  if (algorithm.name == "binomial" || algorithm.name == "scatter-allgather") {
    return binomial_tree(shape);
  }
  return flat_tree(shape);
}

std::uint32_t max_posted(const TaskList& list) {
  std::map<int, std::uint32_t> posted;
  std::uint32_t most = 0;
  for (const Task& task : list.tasks) {
    if (task.kind == Kind::receive) most = std::max(most, ++posted[task.peer]);
    if (task.kind == Kind::wait_received) posted[task.peer] -= task.count;
  }
  return most;
}

int ceil_log(int ranks, std::uint32_t base) {
  int rounds = 0;
  for (std::int64_t reached = 1; reached < ranks; reached *= base)
    ++rounds;
  return rounds;
}

}  // namespace scela::collectives
