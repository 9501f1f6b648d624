// Tests algorithms in which one leader acts for the ranks of a node (O26), or several do (O27), and
// which ranks need connections to which (O25).
#include "collectives/algorithms/hierarchy.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/core/analysis/connection_count.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace hierarchical_test {

using namespace scela::collectives;

namespace {

bool has_root(Operation operation) {
  return operation == Operation::bcast || operation == Operation::reduce ||
         operation == Operation::gather || operation == Operation::scatter;
}

// Returns the most queue pairs that a rank of the census needs.
std::size_t max_queue_pairs(const Census& census, int ranks) {
  std::size_t most = 0;
  for (int rank = 0; rank < ranks; ++rank)
    most = std::max(most, kQueuePairsPerPeer * census.peers(rank).size());
  return most;
}

// Calls `act` with all shapes of an algorithm on those nodes.
template <typename Act>
void each_shape_on(const Algorithm& each, const Placed& placed, int ranks, Act act) {
  const bool has_in_place =
      each.operation != Operation::bcast && each.operation != Operation::barrier;
  for (const int root : roots(ranks)) {
    if (root > 0 && !has_root(each.operation)) continue;
    for (const bool in_place : {false, true}) {
      if (in_place && !has_in_place) continue;
      // For larger counts, only some shapes are tried.
      if (has_in_place && ranks > 16 && in_place != ((ranks + root) % 2 != 0)) continue;
      for (const std::uint32_t more : {0u, 1u, 3u}) {
        if (more > 0 && ((!each.has_radix && !each.has_segments) || ranks > 16)) continue;
        Shape shape;
        shape.operation = each.operation;
        shape.ranks = ranks;
        shape.root = root;
        shape.in_place = in_place;
        shape.nodes = placed.nodes;
        if (each.has_radix) shape.radix += more;
        if (each.has_segments) shape.segments += more;
        act(shape);
      }
    }
  }
}

template <typename Act>
void each_case(int ranks, Act act) {
  const std::vector<Placed> all = placements(ranks, 4);
  for (const Algorithm& each : algorithms()) {
    if (!each.has_nodes) continue;
    const bool is_square =
        each.operation == Operation::allgather || each.operation == Operation::alltoall;
    if (is_square && ranks > 130) continue;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (ranks > 16 && i != static_cast<std::size_t>(ranks) % all.size() && ranks < 1000) continue;
      if (ranks >= 1000 && i != 2 && i != 4) continue;
      each_shape_on(each, all[i], ranks, [&](const Shape& shape) { act(each, shape, all[i].how); });
    }
  }
}

Census census_of(const std::vector<TaskList>& lists) {
  Census census(static_cast<int>(lists.size()));
  for (std::size_t rank = 0; rank < lists.size(); ++rank)
    census.add(static_cast<int>(rank), lists[rank]);
  return census;
}

std::uint64_t of_others(const Shape& shape, std::string_view name, int ranks) {
  Shape other{.operation = shape.operation, .ranks = ranks};
  other.radix = shape.radix;
  other.segments = shape.segments;
  return prove(algorithm(shape.operation, name), other).messages;
}

// Counts the messages of an allgather's leaders to the ranks of their nodes, without each rank's
// own block.
std::uint64_t told(const NodeMap& nodes) {
  std::uint64_t count = 0;
  for (int node = 0; node < nodes.nodes(); ++node) {
    for (const int rank : nodes.members(node)) {
      if (rank != nodes.members(node).front()) count += rank == nodes.ranks() - 1 ? 1 : 2;
    }
  }
  return count;
}

void count(const Algorithm& each, const Shape& shape, const std::string& how,
           const Counts& counts) {
  const auto ranks = static_cast<std::uint64_t>(shape.ranks);
  const int leaders = shape.nodes->nodes();
  const std::uint64_t others = ranks - static_cast<std::uint64_t>(leaders);
  switch (each.operation) {
    case Operation::barrier:
      CHECK(counts.messages == 2 * others + of_others(shape, "dissemination", leaders));
      CHECK(counts.rounds <= 2 + static_cast<std::uint32_t>(ceil_log(leaders, shape.radix)));
      return;
    case Operation::bcast:
    case Operation::reduce:
      CHECK(counts.messages == (ranks - 1) * shape.segments);
      return;
    case Operation::allreduce:
      CHECK(counts.messages ==
            2 * others * shape.segments + of_others(shape, "recursive-doubling", leaders));
      return;
    case Operation::gather:
    case Operation::scatter:
      if (how == "in blocks" || how == "one node") CHECK(counts.messages == ranks - 1);
      CHECK(counts.messages < 2 * ranks);
      return;
    case Operation::alltoall: {
      const auto pairs = static_cast<std::uint64_t>(leaders);
      CHECK(counts.messages == 2 * others + pairs * (pairs - 1));
      CHECK(counts.rounds <= 2 + static_cast<std::uint32_t>(leaders));
      return;
    }
    case Operation::allgather:
      CHECK(counts.blocks == ranks * (ranks - 1) * shape.segments);
      if (each.name == "hierarchical" && (how == "in blocks" || how == "one node")) {
        CHECK(counts.messages ==
              others + of_others(shape, "standard-exchange", leaders) + told(*shape.nodes));
        CHECK(counts.rounds <= 2 + static_cast<std::uint32_t>(ceil_log(leaders, shape.radix)));
      }
      return;
    default:
      FAIL("nobody counts " << name_of(each.operation));
  }
}

// Checks that only leaders have peers on other nodes. A node has one leader, or as many as it has
// teams.
void check_silence(const Algorithm& each, const Shape& shape) {
  const Census census = census_of(lists_of(each, shape));
  const Hierarchy hierarchy(shape, has_root(shape.operation) ? shape.root : Hierarchy::kNoRoot);
  const bool has_teams = each.name == "multigroup" || each.name == "multileader";
  std::map<int, std::uint32_t> speakers;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    if (census.peers_off_node(rank, *shape.nodes).empty()) continue;
    const int node = shape.nodes->of(rank);
    if (!has_teams && hierarchy.leader(node) != rank) FAIL("rank " << rank << " is no leader");
    if (++speakers[node] > (has_teams ? shape.radix : 1)) FAIL("node " << node);
  }
  SUCCEED();
}

}  // namespace

// Requirements O26 and O27 (docs/coverage.md).
TEST_CASE("hierarchical: right for any number of ranks on any nodes, in as many messages as said") {
  for (const int ranks : up_to_130()) {
    each_case(ranks, [](const Algorithm& each, const Shape& shape, const std::string& how) {
      INFO(text(each, shape) << ", " << how);
      count(each, shape, how, prove(each, shape));
    });
  }
}

TEST_CASE("hierarchical: thousands of ranks") {
  for (const int ranks : {1000, 4096}) {
    each_case(ranks, [](const Algorithm& each, const Shape& shape, const std::string& how) {
      if (shape.root % 2 != 0) return;
      INFO(text(each, shape) << ", " << how);
      count(each, shape, how, prove(each, shape));
    });
  }
}

// Requirement O26 (docs/coverage.md).
TEST_CASE("hierarchical: a rank that is no leader sends nothing to other nodes") {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    each_case(ranks, [](const Algorithm& each, const Shape& shape, const std::string& how) {
      if (shape.segments > 1) return;
      INFO(text(each, shape) << ", " << how);
      check_silence(each, shape);
    });
  }
}

TEST_CASE("hierarchical: blocks may be of any sizes, but for an alltoall's") {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    each_case(ranks, [&](const Algorithm& each, const Shape& shape, const std::string&) {
      if (each.operation == Operation::barrier || each.equal_blocks) return;
      const bool by_rank = each.operation == Operation::allgather ||
                           each.operation == Operation::gather ||
                           each.operation == Operation::scatter;
      std::vector<std::uint64_t> sizes;
      for (std::uint32_t i = 0; i < shape.segments * (by_rank ? shape.ranks : 1); ++i)
        sizes.push_back(i * i * 31 % 17 % 5 * 100);
      prove_sizes(each, shape, sizes);
    });
  }
}

TEST_CASE("hierarchical: a leader says when its node is together, and when nodes are") {
  for (const Algorithm& each : algorithms()) {
    if (!each.has_nodes) continue;
    if (has_root(each.operation)) continue;
    Shape shape{.operation = each.operation, .ranks = 12, .radix = 2};
    shape.nodes = placements(12, 4)[2].nodes;
    const std::vector<TaskList> lists = lists_of(each, shape);
    INFO(each.name);
    const auto signals = [&](std::size_t rank) {
      return std::ranges::count(lists[rank].tasks, Kind::signal, &Task::kind);
    };
    CHECK(signals(4) == 3);
    CHECK(signals(5) == 2);
    // The leader's first signal comes when it has heard from its team, and from no other rank.
    std::set<int> heard;
    for (const Task& task : lists[4].tasks) {
      if (task.kind == Kind::signal) break;
      if (task.kind == Kind::wait_received) heard.insert(task.peer);
    }
    CHECK(std::ranges::all_of(heard, [](int peer) { return peer > 4 && peer < 8; }));
    CHECK_FALSE(heard.empty());
  }
}

// Offload thesis, Fig. 4.5, as its text describes it: 16 ranks are on four nodes in two groups. Its
// listing of group 0 is "ranks 0, 1, 4, 5, 8, 9, 12 and 13" (O27).
TEST_CASE("multigroup: leaders exchange with their own group's, and tell all of their node") {
  Shape shape{.operation = Operation::allgather, .ranks = 16, .radix = 2};
  shape.nodes = placements(16, 4)[2].nodes;
  const Census census = census_of(lists_of(algorithm(Operation::allgather, "multigroup"), shape));
  const std::set<int> group_0 = {0, 4, 8, 12};
  const std::set<int> group_1 = {2, 6, 10, 14};
  for (int rank = 0; rank < 16; ++rank) {
    const std::set<int> off = census.peers_off_node(rank, *shape.nodes);
    const std::set<int>& group = rank % 4 == 0 ? group_0 : group_1;
    if (rank % 2 != 0) {
      CHECK(off.empty());
      CHECK(census.from(rank) == std::set<int>{rank / 4 * 4, rank / 4 * 4 + 2});
    } else {
      CHECK(off.size() == 2);
      CHECK(std::ranges::includes(group, off));
    }
  }
  // In multileader, all leaders are of one group.
  const Census leaders = census_of(lists_of(algorithm(Operation::allgather, "multileader"), shape));
  CHECK(leaders.peers(0) == std::set<int>{1, 2, 4, 8});
  CHECK(leaders.peers(1) == std::set<int>{0});
}

// Offload thesis, section 4.5.2: 128 ranks have three queue pairs for each connection (O25).
TEST_CASE("census: queue pairs of 128 ranks are those of the thesis, or what is right") {
  const Shape shape{.operation = Operation::allgather, .ranks = 128};
  const auto census = [&](std::string_view name) {
    return census_of(lists_of(algorithm(Operation::allgather, name), shape));
  };
  for (const std::string form : {"", "eager-", "rendezvous-"}) {
    CHECK(max_queue_pairs(census(form + "standard-exchange"), shape.ranks) == 21);
    CHECK(max_queue_pairs(census(form + "ring"), shape.ranks) == 6);
    const Census bruck = census(form + "bruck");
    for (const int rank : {0, 77, 127}) {
      // The thesis has 42, because it counts each direction as a connection: log2 128 ranks ahead
      // and as many behind. A queue pair has both directions, as the thesis counts it for the
      // standard exchange. The rank 64 ahead is also the rank 64 behind.
      if (form.empty())
        CHECK(kQueuePairsPerPeer * (bruck.to(rank).size() + bruck.from(rank).size()) == 42);
      CHECK(kQueuePairsPerPeer * bruck.peers(rank).size() == 39);
    }
  }
  // All operations of a communicator have one set.
  Census all(128);
  for (const std::string_view name : {"standard-exchange", "ring", "standard-exchange"}) {
    const std::vector<TaskList> lists = lists_of(algorithm(Operation::allgather, name), shape);
    for (std::size_t rank = 0; rank < lists.size(); ++rank)
      all.add(static_cast<int>(rank), lists[rank]);
  }
  // One of the ring's two peers is also a peer of the exchange: rank 0 has 1, 2, 4 ... 64, and 127.
  CHECK(kQueuePairsPerPeer * all.peers(0).size() == 24);
}

// The thesis says: "Standard exchange required 3 log2 16 = 12 QPs per node, the Bruck algorithm
// needed 24, and the ring algorithm used 6." (O25, O26)
TEST_CASE("census: off their nodes, 16 leaders of 8 ranks each have the thesis's queue pairs") {
  Shape shape{.operation = Operation::allgather, .ranks = 128};
  shape.nodes = placements(128, 8)[2].nodes;
  const auto off_node = [&](std::string_view name, int rank) {
    const Census census = census_of(lists_of(algorithm(Operation::allgather, name), shape));
    return kQueuePairsPerPeer * census.peers_off_node(rank, *shape.nodes).size();
  };
  CHECK(off_node("hierarchical", 8) == 12);
  CHECK(off_node("hierarchical-ring", 8) == 6);
  // The thesis's 24 count the node that is 8 ahead and 8 behind twice.
  CHECK(off_node("hierarchical-bruck", 8) == 21);
  for (const std::string_view name : {"hierarchical", "hierarchical-ring", "hierarchical-bruck"})
    CHECK(off_node(name, 9) == 0);
}

TEST_CASE("consecutive ranks form runs") {
  CHECK(runs_of({}).empty());
  CHECK(runs_of({3, 4, 5, 9}) == std::vector<Stretch>{{3, 3}, {9, 1}});
  CHECK(runs_without({3, 4, 5, 9}, 4) == std::vector<Stretch>{{3, 1}, {5, 1}, {9, 1}});
}

}  // namespace hierarchical_test
