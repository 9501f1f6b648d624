#include "common/core/kary_tree.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela {

namespace {

bool reaches(std::uint64_t degree, std::uint32_t depth, std::uint64_t nodes) {
  std::uint64_t level = 1;
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < depth && total < nodes; ++i) {
    level *= degree;
    total += level;
    if (degree == 1 && total + (depth - i - 1) < nodes) return false;
  }
  return total >= nodes;
}

// Returns the smallest degree with which a tree of so many levels has room for the nodes.
std::uint32_t smallest_degree(std::uint32_t nodes, std::uint32_t max_depth) {
  const std::uint32_t depth = std::max<std::uint32_t>(1, max_depth);
  std::uint32_t low = 1;
  std::uint32_t high = std::max<std::uint32_t>(1, nodes);
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (reaches(middle, depth, nodes)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

void fill_parents(Slice slice, std::uint32_t parent, std::uint32_t degree,
                  std::vector<std::uint32_t>& out) {
  std::vector<std::pair<Slice, std::uint32_t>> work{{slice, parent}};
  while (!work.empty()) {
    const auto [part, above] = work.back();
    work.pop_back();
    for (const Slice& child : split(part, degree)) {
      out[child.first] = above;
      work.emplace_back(Slice{child.first + 1, child.end}, child.first);
    }
  }
}

}  // namespace

Result<std::uint32_t> choose_degree(std::uint32_t nodes, std::uint32_t ranks_per_node,
                                    const TreeLimits& limits) {
  if (std::uint64_t{ranks_per_node} + 2 > limits.max_connections &&
      nodes < limits.max_connections) {
    return std::max<std::uint32_t>(1, nodes);
  }
  if (std::uint64_t{ranks_per_node} + 2 > limits.max_connections) {
    return fail(Error{
        ErrorKind::usage, "choose the tree's degree", "",
        cat(ranks_per_node,
            " ranks on a node and one parent leave no connection for a child (limit ",
            limits.max_connections, "), and ", nodes, " nodes are too many for the root alone"),
        "raise --max-conn or lower --ppn"});
  }
  const std::uint32_t most = limits.max_connections - 1 - ranks_per_node;
  return std::min(smallest_degree(nodes, limits.max_depth), most);
}

std::uint32_t choose_depth(std::uint32_t nodes, std::uint32_t ranks_per_node,
                           const TreeLimits& limits, const StartCosts& costs) {
  std::uint32_t best = limits.max_depth;
  std::uint64_t least = UINT64_MAX;
  for (std::uint32_t depth = 1; depth <= limits.max_depth; ++depth) {
    const std::uint64_t degree = smallest_degree(nodes, depth);
    if (degree + 1 + ranks_per_node > limits.max_connections) continue;  // it would grow deeper
    const std::uint64_t time = depth * (costs.level_us + costs.child_us * degree);
    if (time >= least) continue;
    least = time;
    best = depth;
  }
  return best;
}

std::vector<Slice> split(Slice whole, std::uint32_t degree) {
  std::vector<Slice> out;
  const std::uint32_t parts = std::min(degree, whole.size());
  out.reserve(parts);
  std::uint32_t at = whole.first;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const std::uint32_t length = whole.size() / parts + (i < whole.size() % parts ? 1 : 0);
    out.push_back({at, at + length});
    at += length;
  }
  return out;
}

std::uint32_t height(Slice slice, std::uint32_t degree) {
  std::uint32_t levels = 0;
  while (slice.size() > 0) {
    ++levels;
    const auto below = split({slice.first + 1, slice.end}, degree);
    slice = below.empty() ? Slice{} : below.front();  // the first is the largest
  }
  return levels;
}

std::vector<std::uint32_t> parents(std::uint32_t nodes, std::uint32_t degree) {
  std::vector<std::uint32_t> out(nodes, kRootParent);
  fill_parents({0, nodes}, kRootParent, degree, out);
  return out;
}

}  // namespace scela
