#include "collectives/algorithms/tree.h"

#include <algorithm>
#include <limits>

namespace scela::collectives {

namespace {

Tree tree_of(Tree::Form form, const Shape& shape, std::uint32_t radix) {
  return Tree{form, shape.ranks, shape.root, radix};
}

// Returns how many places a nomial subtree would have if there were no last rank: the weight of the
// place's last digit that is not 0.
std::int64_t weight(const Tree& tree, int place) {
  if (place == 0) return std::numeric_limits<int>::max();
  std::int64_t weight = 1;
  while (place % (weight * tree.radix) == 0)
    weight *= tree.radix;
  return weight;
}

// The end of a subtree of the binary tree, and the parent of its top.
struct Found {
  int end = 0;
  int parent = kNoParent;
};

// Returns where the second half of the places behind `top` begins. The first half is the larger
// one.
int second_half(int top, int end) {
  return top + 1 + (end - top) / 2;
}

Found find_binary(const Tree& tree, int place) {
  int top = 0;
  Found found{tree.ranks, kNoParent};
  while (top != place) {
    const int half = second_half(top, found.end);
    found.parent = top;
    if (place < half) {
      top += 1;
      found.end = half;
    } else {
      top = half;
    }
  }
  return found;
}

// Returns the places of the children of `place`.
std::vector<int> below(const Tree& tree, int place) {
  std::vector<int> found;
  switch (tree.form) {
    case Tree::Form::flat:
      for (int other = 1; place == 0 && other < tree.ranks; ++other)
        found.push_back(other);
      break;
    case Tree::Form::chain:
      if (place + 1 < tree.ranks) found.push_back(place + 1);
      break;
    case Tree::Form::binary: {
      const int end = find_binary(tree, place).end;
      if (place + 1 < end) found.push_back(place + 1);
      if (const int half = second_half(place, end); half < end) found.push_back(half);
      break;
    }
    case Tree::Form::nomial: {
      const std::int64_t limit = weight(tree, place);
      for (std::int64_t step = 1; step < limit && place + step < tree.ranks; step *= tree.radix) {
        for (std::int64_t i = 1; i < tree.radix && place + i * step < tree.ranks; ++i)
          found.push_back(static_cast<int>(place + i * step));
      }
      break;
    }
  }
  return found;
}

}  // namespace

Tree flat_tree(const Shape& shape) {
  return tree_of(Tree::Form::flat, shape, 2);
}
Tree chain_tree(const Shape& shape) {
  return tree_of(Tree::Form::chain, shape, 2);
}
Tree binary_tree(const Shape& shape) {
  return tree_of(Tree::Form::binary, shape, 2);
}
Tree binomial_tree(const Shape& shape) {
  return tree_of(Tree::Form::nomial, shape, 2);
}
Tree k_nomial_tree(const Shape& shape) {
  return tree_of(Tree::Form::nomial, shape, shape.radix);
}

int place_of(const Tree& tree, int rank) {
  return rank >= tree.root ? rank - tree.root : rank - tree.root + tree.ranks;
}

int rank_at(const Tree& tree, int place) {
  return place < tree.ranks - tree.root ? place + tree.root : place + tree.root - tree.ranks;
}

int parent(const Tree& tree, int rank) {
  const int place = place_of(tree, rank);
  if (place == 0) return kNoParent;
  switch (tree.form) {
    case Tree::Form::flat:
      break;
    case Tree::Form::chain:
      return rank_at(tree, place - 1);
    case Tree::Form::binary:
      return rank_at(tree, find_binary(tree, place).parent);
    case Tree::Form::nomial: {
      const std::int64_t step = weight(tree, place) * tree.radix;
      return rank_at(tree, static_cast<int>(place - place % step));
    }
  }
  return tree.root;
}

std::vector<int> children(const Tree& tree, int rank) {
  std::vector<int> found = below(tree, place_of(tree, rank));
  for (int& each : found)
    each = rank_at(tree, each);
  return found;
}

std::vector<int> children_largest_first(const Tree& tree, int rank) {
  std::vector<int> found = children(tree, rank);
  std::ranges::stable_sort(found, std::ranges::greater{},
                           [&](int child) { return subtree(tree, child); });
  return found;
}

bool can_split(const Tree& tree) {
  return tree.form == Tree::Form::nomial;
}

bool is_low(const Tree& tree, int rank, std::uint32_t split) {
  const int place = place_of(tree, rank);
  if (split == 0 || !can_split(tree) || place == 0) return false;
  const std::int64_t own = weight(tree, place);
  std::int64_t limit = 1;
  for (std::uint32_t level = 0; level < split && limit <= own; ++level)
    limit *= tree.radix;
  return own < limit;
}

int subtree(const Tree& tree, int rank) {
  const int place = place_of(tree, rank);
  switch (tree.form) {
    case Tree::Form::flat:
      return place == 0 ? tree.ranks : 1;
    case Tree::Form::chain:
      return tree.ranks - place;
    case Tree::Form::binary:
      return find_binary(tree, place).end - place;
    case Tree::Form::nomial:
      return static_cast<int>(std::min<std::int64_t>(weight(tree, place), tree.ranks - place));
  }
  return 1;
}

std::vector<Stretch> runs(const Tree& tree, int place, int count) {
  const int first = rank_at(tree, place);
  const int before_end = std::min(count, tree.ranks - first);
  std::vector<Stretch> found{{first, before_end}};
  if (before_end < count) found.push_back({0, count - before_end});
  return found;
}

}  // namespace scela::collectives
