// Task lists written by hand, for the tests of the parts that prove lists.
#pragma once

#include <catch2/catch.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/core/shape.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

using Lists = std::vector<TaskList>;

// Parses one text for each rank.
inline Lists lists_of(std::initializer_list<std::string> texts) {
  Lists out;
  for (const std::string& text : texts) {
    auto list = parse(text);
    INFO(text);
    if (!list) FAIL(list.error().text());
    out.push_back(*list);
  }
  return out;
}

inline Shape shape_of(Operation operation, int ranks, int root = 0) {
  Shape shape;
  shape.operation = operation;
  shape.ranks = ranks;
  shape.root = root;
  return shape;
}

inline Shape in_place(Shape shape) {
  shape.in_place = true;
  return shape;
}

inline Shape in_order(Shape shape) {
  shape.commutes = false;
  return shape;
}

inline Task send(int peer, Blocks from) {
  return {Kind::send, false, false, peer, 0, from, {}};
}
inline Task receive(int peer, Blocks to) {
  return {Kind::receive, false, false, peer, 0, {}, to};
}
inline Task wait_sent(int peer) {
  return {Kind::wait_sent, false, false, peer, 1, {}, {}};
}
inline Task wait_received(int peer) {
  return {Kind::wait_received, false, false, peer, 1, {}, {}};
}

// Rank 0 sends a block to each rank, all at once.
Lists flat_bcast(int ranks);
// Rank r receives from r without its lowest bit. The farthest child comes first. The number of
// ranks is a power of two.
Lists binomial_bcast(int ranks);
// The blocks go round the ring, one in each step.
Lists ring_allgather(int ranks);
// Every rank sends to every other, all at once.
Lists flat_alltoall(int ranks);
// In step i, each rank exchanges 2^i blocks with its partner. The number of ranks is a power of
// two.
Lists doubling_allgather(int ranks);

}  // namespace scela::collectives
