#include "collectives/algorithms/allreduce/allreduce.h"
#include "collectives/algorithms/groups.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

// The list of the second rank of a group.
TaskList extra_rank(const Shape& shape, int proxy) {
  Writer list;
  const Blocks result = output(0, shape.segments);
  list.send(proxy, shape.in_place ? result : input(0, shape.segments));
  if (shape.in_place) list.wait_sent(proxy);
  list.receive(proxy, result);
  list.wait_received(proxy, 1);
  return list.done(shape.in_place ? 0 : shape.segments, shape.segments, 0);
}

}  // namespace

TaskList allreduce_recursive_doubling(const Shape& shape, int rank) {
  const Groups groups(shape.ranks, 2);
  const int group = groups.of(rank);
  if (rank != groups.first(group)) return extra_rank(shape, groups.first(group));

  Writer list;
  const Blocks result = output(0, shape.segments);
  const auto row = [&](int round) {
    return scratch(static_cast<std::uint32_t>(round % 2) * shape.segments, shape.segments);
  };
  const auto peer = [&](int round) { return groups.first(group ^ (1 << round)); };
  const auto post = [&](int round) {
    if (round < groups.rounds()) list.receive(peer(round), row(round));
  };
  // A rank that reduces nothing before its first exchange sends its input. It receives the peer's
  // contribution where the result is to stand, so nothing is copied.
  const bool is_direct = !shape.in_place && groups.size(group) == 1 && groups.rounds() > 0;
  if (is_direct)
    list.receive(peer(0), result);
  else
    post(0);
  if (!shape.in_place && !is_direct) list.copy(input(0, shape.segments), result);
  if (groups.size(group) > 1) {
    list.receive(rank + 1, row(1));
    list.wait_received(rank + 1, 1);
    list.reduce_right(row(1), result);
  }
  for (int round = 0; round < groups.rounds(); ++round) {
    post(round + 1);
    const bool own_is_input = is_direct && round == 0;
    list.send(peer(round), own_is_input ? input(0, shape.segments) : result);
    list.wait_received(peer(round), 1);
    list.wait_sent(peer(round));
    if (own_is_input)
      peer(round) < rank ? list.reduce_right(input(0, shape.segments), result)
                         : list.reduce_left(input(0, shape.segments), result);
    else if (peer(round) < rank)
      list.reduce_left(row(round), result);
    else
      list.reduce_right(row(round), result);
  }
  if (groups.size(group) > 1) list.send(rank + 1, result);
  return list.done(shape.in_place ? 0 : shape.segments, shape.segments, 2 * shape.segments);
}

}  // namespace scela::collectives
