// The trees that messages travel on, as arithmetic on places. A rank's place is its distance after
// the root in the order of ranks, modulo N; the root's is 0. Algorithms use these functions, which
// are pure, so any thread may call them.
//
// Every tree here has two properties that algorithms rely on. The places of a subtree follow each
// other, its top first, and children come in the order of their places. So what is gathered up a
// tree stands in order. What is reduced up a tree is bracketed, but operands never change places.
//
// Sources: thesis on mixed-mode collectives, section 1.6 of its digest (flat, chain, binary,
// binomial); Kaiser, Hoefler et al., gather: binary, binomial, flat.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/core/shape.h"

namespace scela::collectives {

// The form of a tree, its number of ranks, and the rank at its top.
struct Tree {
  enum class Form : std::uint8_t {
    flat,    // all others are the root's children
    chain,   // each rank has at most one child
    binary,  // the places after the top are halved
    // To get the parent's place, the last digit of the place (base `radix`) that is not 0 becomes
    // 0. With radix 2 this is the binomial tree.
    nomial,
  };
  Form form = Form::flat;
  int ranks = 1;
  int root = 0;
  std::uint32_t radix = 2;  // for nomial: its base
};

// These return trees of the shape's ranks with the shape's root at the top. k_nomial_tree() uses
// the shape's radix, and binomial_tree() uses 2.
Tree flat_tree(const Shape& shape);
Tree chain_tree(const Shape& shape);
Tree binary_tree(const Shape& shape);
Tree binomial_tree(const Shape& shape);
Tree k_nomial_tree(const Shape& shape);

// Returns the place of a rank, from 0 to ranks - 1.
int place_of(const Tree& tree, int rank);
// Returns the rank at a place.
int rank_at(const Tree& tree, int place);

inline constexpr int kNoParent = -1;
// Returns the rank's parent, or kNoParent for the root.
int parent(const Tree& tree, int rank);
// Returns the rank's children in the order of their places.
std::vector<int> children(const Tree& tree, int rank);
// Returns the rank's children, those with the largest subtrees first, since their messages have the
// longest way ahead.
std::vector<int> children_largest_first(const Tree& tree, int rank);
// For a nomial tree: returns true if the edge from the rank to its parent belongs to the `split`
// levels nearest the leaves. The places of such a rank and its parent are less than radix^split
// apart.
bool is_low(const Tree& tree, int rank, std::uint32_t split);
// Returns true if levels of the tree can be split off, which needs a nomial tree.
bool can_split(const Tree& tree);
// Returns the number of ranks in the subtree with `rank` at its top, the rank itself included.
int subtree(const Tree& tree, int rank);

// `count` consecutive ranks from `first` on.
struct Stretch {
  int first = 0;
  int count = 0;
  friend bool operator==(const Stretch&, const Stretch&) = default;
};
// Returns the ranks at the `count` places from `place` on: one sequence, or two if they pass the
// last rank.
std::vector<Stretch> runs(const Tree& tree, int place, int count);

}  // namespace scela::collectives
