// Tests for what ranks need connections, computed from the lists alone.
#include "collectives/choice/needs.h"

#include <catch2/catch.hpp>

#include "common/core/text.h"

namespace scela::collectives::needs_test {
namespace {

Needs needs(std::string_view row, int ranks, int nodes) {
  const auto table = Table::parse(row, "a test");
  REQUIRE(table);
  REQUIRE(table->rows().size() == 1);
  Question question;
  question.operation = table->rows().front().operation;
  question.ranks = ranks;
  question.nodes = nodes;
  REQUIRE(can(*table->rows().front().algorithm, question, table->rows().front().radix));
  return needs_of(table->rows().front(), question);
}

// Offload thesis, section 4.5.2: cluster A has 8 ranks on each of 16 nodes.
TEST_CASE("needs: queue pairs of allgathers of 128 ranks on 16 nodes, flat and by leaders") {
  const Needs exchange = needs("allgather standard-exchange", 128, 16);
  CHECK(exchange.max_queue_pairs == 21);
  CHECK(exchange.max_peers == 7);
  CHECK(exchange.peers == Approx(7));
  CHECK(exchange.ranks_off_node == 128);
  CHECK(needs("allgather ring", 128, 16).max_queue_pairs == 6);
  CHECK(needs("allgather bruck", 128, 16).max_queue_pairs == 39);  // 42 with one counted twice
  struct Leaders {
    const char* row;
    std::uint32_t queue_pairs;
  };
  for (const Leaders& leaders :
       {Leaders{"allgather hierarchical", 12}, Leaders{"allgather hierarchical-ring", 6},
        Leaders{"allgather hierarchical-bruck", 21}}) {
    INFO(leaders.row);
    const Needs found = needs(leaders.row, 128, 16);
    CHECK(found.max_queue_pairs_off_node == leaders.queue_pairs);
    CHECK(found.ranks_off_node == 16);
  }
}

TEST_CASE("needs: rooted operations count all roots, and several ports count all their peers") {
  // A flat root sends to all ranks, and each rank is root once.
  CHECK(needs("bcast flat", 16, 1).max_peers == 15);
  CHECK(needs("bcast flat", 16, 1).peers == Approx(15));
  CHECK(needs("bcast flat", 16, 4).max_peers_off_node == 12);
  CHECK(needs("bcast chain", 16, 1).max_peers == 2);
  // With three ports, 16 ranks take two rounds, with three other ranks in each.
  CHECK(needs("allgather standard-exchange radix 4", 16, 1).max_peers == 6);
  CHECK(needs("allgather standard-exchange", 16, 1).max_peers == 4);
}

TEST_CASE("needs: peers are counted for partly filled nodes and for a single rank") {
  CHECK(needs("allgather direct", 5, 2).max_peers_off_node == 3);
  CHECK(needs("allgather direct", 5, 2).ranks_off_node == 5);
  CHECK(needs("allgather direct", 1, 1).max_peers == 0);
  CHECK(needs("allgather direct", 1, 1).max_queue_pairs == 0);
  // A list has at least one task for each peer.
  CHECK(needs("alltoall flat", 8, 1).max_tasks >= 14);
}

}  // namespace
}  // namespace scela::collectives::needs_test
