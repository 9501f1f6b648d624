#include <utility>

#include "collectives/algorithms/groups.h"
#include "collectives/algorithms/reduce_scatter/reduce_scatter.h"
#include "collectives/algorithms/reduce_scatter/reduced_places.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

// The list of the second rank of a group, which gives all blocks and gets its own.
TaskList extra_rank(const Shape& shape, int rank, int proxy) {
  Writer list;
  const ReducedPlaces places(shape, rank);
  list.send(proxy, places.given(0, shape.ranks));
  list.wait_sent(proxy);
  list.receive(proxy, output(0, shape.segments));
  list.wait_received(proxy, 1);
  return places.done(list, output(0, shape.segments), 0);
}

}  // namespace

TaskList reduce_scatter_halving(const Shape& shape, int rank) {
  const Groups groups(shape.ranks, 2);
  const int group = groups.of(rank);
  if (rank != groups.first(group)) return extra_rank(shape, rank, groups.first(group));

  Writer list;
  const ReducedPlaces places(shape, rank);
  const bool has_ward = groups.size(group) > 1;
  // Row 0 has what is reduced so far, and row 1 receives what comes to it.
  bool is_reduced = false;
  const auto sum = [&](int first, int count) {
    return is_reduced ? places.row(0, first, count) : places.given(first, count);
  };
  const auto join = [&](int first, int count) {
    if (is_reduced)
      list.reduce_right(places.row(1, first, count), places.row(0, first, count));
    else
      list.reduce_right(places.given(first, count), places.row(0, first, count));
    is_reduced = true;
  };
  if (has_ward) {
    list.receive(rank + 1, places.row(0, 0, shape.ranks));
    list.wait_received(rank + 1, 1);
    join(0, shape.ranks);
  }
  for (int half = groups.count() / 2; half > 0; half /= 2) {
    const auto range = [&](int of) {
      const int first = groups.first(of - of % half);
      return std::pair(first, groups.first(of - of % half + half) - first);
    };
    const auto [kept, kept_count] = range(group);
    const auto [given, given_count] = range(group ^ half);
    const int peer = groups.first(group ^ half);
    list.receive(peer, places.row(is_reduced ? 1 : 0, kept, kept_count));
    list.send(peer, sum(given, given_count));
    list.wait_received(peer, 1);
    list.wait_sent(peer);
    join(kept, kept_count);
  }
  if (has_ward) list.send(rank + 1, sum(rank + 1, 1));
  return places.done(list, sum(rank, 1), 2);
}

}  // namespace scela::collectives
