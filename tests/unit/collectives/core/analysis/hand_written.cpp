#include "tests/unit/collectives/core/analysis/hand_written.h"

namespace scela::collectives {
namespace {

Blocks out(int first, int count = 1) {
  return {Space::output, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)};
}

Blocks in(int first) {
  return {Space::input, static_cast<std::uint32_t>(first), 1};
}

Lists with_blocks(int ranks, std::uint32_t input, std::uint32_t output) {
  Lists lists(static_cast<std::size_t>(ranks));
  for (TaskList& list : lists) {
    list.blocks[0] = input;
    list.blocks[1] = output;
  }
  return lists;
}

}  // namespace

Lists flat_bcast(int ranks) {
  Lists lists = with_blocks(ranks, 0, 1);
  for (int peer = 1; peer < ranks; ++peer) {
    lists[0].tasks.push_back(send(peer, out(0)));
    lists[static_cast<std::size_t>(peer)].tasks = {receive(0, out(0)), wait_received(0)};
  }
  for (int peer = 1; peer < ranks; ++peer)
    lists[0].tasks.push_back(wait_sent(peer));
  return lists;
}

Lists binomial_bcast(int ranks) {
  Lists lists = with_blocks(ranks, 0, 1);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Task>& tasks = lists[static_cast<std::size_t>(rank)].tasks;
    const int lowest = rank == 0 ? ranks : rank & -rank;
    if (rank != 0) tasks = {receive(rank - lowest, out(0)), wait_received(rank - lowest)};
    for (int bit = lowest / 2; bit > 0; bit /= 2)
      tasks.push_back(send(rank + bit, out(0)));
    for (int bit = lowest / 2; bit > 0; bit /= 2)
      tasks.push_back(wait_sent(rank + bit));
  }
  return lists;
}

Lists ring_allgather(int ranks) {
  Lists lists = with_blocks(ranks, 1, static_cast<std::uint32_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Task>& tasks = lists[static_cast<std::size_t>(rank)].tasks;
    tasks.push_back({Kind::copy, false, false, -1, 0, in(0), out(rank)});
    const int right = (rank + 1) % ranks;
    const int left = (rank + ranks - 1) % ranks;
    for (int step = 0; step + 1 < ranks; ++step) {
      tasks.push_back(receive(left, out((rank + 2 * ranks - step - 1) % ranks)));
      tasks.push_back(send(right, out((rank + ranks - step) % ranks)));
      tasks.push_back(wait_received(left));
      tasks.push_back(wait_sent(right));
    }
  }
  return lists;
}

Lists flat_alltoall(int ranks) {
  const auto all = static_cast<std::uint32_t>(ranks);
  Lists lists = with_blocks(ranks, all, all);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Task>& tasks = lists[static_cast<std::size_t>(rank)].tasks;
    tasks.push_back({Kind::copy, false, false, -1, 0, in(rank), out(rank)});
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != rank) tasks.push_back(receive(peer, out(peer)));
    }
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != rank) tasks.push_back(send(peer, in(peer)));
    }
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      tasks.push_back(wait_received(peer));
      tasks.push_back(wait_sent(peer));
    }
  }
  return lists;
}

Lists doubling_allgather(int ranks) {
  Lists lists = with_blocks(ranks, 1, static_cast<std::uint32_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Task>& tasks = lists[static_cast<std::size_t>(rank)].tasks;
    tasks.push_back({Kind::copy, false, false, -1, 0, in(0), out(rank)});
    for (int bit = 1; bit < ranks; bit *= 2) {
      const int peer = rank ^ bit;
      tasks.push_back(receive(peer, out(peer / bit * bit, bit)));
      tasks.push_back(send(peer, out(rank / bit * bit, bit)));
      tasks.push_back(wait_received(peer));
      tasks.push_back(wait_sent(peer));
    }
  }
  return lists;
}

}  // namespace scela::collectives
