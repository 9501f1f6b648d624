#include "collectives/algorithms/hierarchy.h"

#include <algorithm>

namespace scela::collectives {

namespace {

std::shared_ptr<const NodeMap> map_of(const Shape& shape) {
  if (shape.nodes != nullptr) return shape.nodes;
  return std::make_shared<const NodeMap>(std::vector<int>(static_cast<std::size_t>(shape.ranks)));
}

void add(std::vector<Stretch>& runs, int rank) {
  if (!runs.empty() && runs.back().first + runs.back().count == rank)
    ++runs.back().count;
  else
    runs.push_back({rank, 1});
}

}  // namespace

std::vector<Stretch> runs_of(const std::vector<int>& ranks) {
  std::vector<Stretch> runs;
  for (const int rank : ranks)
    add(runs, rank);
  return runs;
}

std::vector<Stretch> runs_without(const std::vector<int>& ranks, int rank) {
  std::vector<Stretch> runs;
  for (const int each : ranks) {
    if (each != rank) add(runs, each);
  }
  return runs;
}

Hierarchy::Hierarchy(const Shape& shape, int root) : nodes_(map_of(shape)) {
  for (int node = 0; node < nodes_->nodes(); ++node)
    leaders_.push_back(members(node).front());
  if (root != kNoRoot) leaders_[static_cast<std::size_t>(node_of(root))] = root;
}

int Hierarchy::number(int rank) const {
  const std::vector<int>& all = members(node_of(rank));
  return static_cast<int>(std::ranges::lower_bound(all, rank) - all.begin());
}

Branch branch(const Hierarchy& hierarchy, int root, int rank) {
  const int node = hierarchy.node_of(rank);
  const std::vector<int>& members = hierarchy.members(node);
  const int leader = hierarchy.leader(node);
  Branch found;
  if (rank == leader) {
    const Tree tree{Tree::Form::nomial, hierarchy.nodes().nodes(), hierarchy.node_of(root), 2};
    if (const int above = parent(tree, node); above != kNoParent)
      found.parent = hierarchy.leader(above);
    for (const int below : children_largest_first(tree, node))
      found.children.push_back(hierarchy.leader(below));
  }
  const Tree tree{Tree::Form::nomial, static_cast<int>(members.size()), hierarchy.number(leader),
                  2};
  const int number = hierarchy.number(rank);
  if (const int above = parent(tree, number); above != kNoParent)
    found.parent = members[static_cast<std::size_t>(above)];
  for (const int below : children_largest_first(tree, number))
    found.children.push_back(members[static_cast<std::size_t>(below)]);
  return found;
}

}  // namespace scela::collectives
