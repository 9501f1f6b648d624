// The trees that messages travel on, as arithmetic on places: a rank's place is how far behind the
// root it stands, counted round (the root's is 0).
//
// Every tree here has two properties that algorithms rely on: the places of a subtree follow each
// other, its top first; and children come in the order of their places. So what is gathered up a
// tree stands in order, and what is reduced up it is bracketed but never exchanged.
//
// Sources: thesis on mixed-mode collectives, section 1.6 of its digest (flat, chain, binary,
// binomial); Kaiser, Hoefler et al., gather: binary, binomial, flat.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/core/shape.h"

namespace scela::collectives {

struct Tree {
  enum class Form : std::uint8_t {
    flat,    // everyone is the root's child
    chain,   // everyone has one child
    binary,  // the places behind one's own are cut into two halves
    // The parent's place is one's own with the last digit that is not 0, base `radix`, made 0.
    // Binomial with radix 2.
    nomial,
  };
  Form form = Form::flat;
  int ranks = 1;
  int root = 0;
  std::uint32_t radix = 2;  // nomial
};

Tree flat_tree(const Shape& shape);
Tree chain_tree(const Shape& shape);
Tree binary_tree(const Shape& shape);
Tree binomial_tree(const Shape& shape);
Tree k_nomial_tree(const Shape& shape);

int place_of(const Tree& tree, int rank);
int rank_at(const Tree& tree, int place);

inline constexpr int kNoParent = -1;
int parent(const Tree& tree, int rank);
// In the order of their places.
std::vector<int> children(const Tree& tree, int rank);
// Those with most ranks below them first, who have the longest way ahead.
std::vector<int> children_largest_first(const Tree& tree, int rank);
// Whether the way from the parent is of the `split` levels nearest the leaves, of a nomial tree:
// those whose ends are less than radix^split places apart.
bool is_low(const Tree& tree, int rank, std::uint32_t split);
bool can_split(const Tree& tree);
// How many ranks the subtree has whose top `rank` is.
int subtree(const Tree& tree, int rank);
// Messages from the root to whoever is farthest.
int depth(const Tree& tree);

// The ranks at `count` places from `place` on, as runs of ranks that follow each other: one, or two
// where they pass the last rank.
struct Stretch {
  int first = 0;
  int count = 0;
  friend bool operator==(const Stretch&, const Stretch&) = default;
};
std::vector<Stretch> runs(const Tree& tree, int place, int count);

}  // namespace scela::collectives
