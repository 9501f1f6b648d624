// Does what tests/interop/programs/collectives/communicator_probe.cpp does over real channels, but
// over messages in memory: every form of every operation, and concurrent operations of several
// communicators. A rank that finds an error writes it to standard error and ends the process with
// status 3.
#include <catch2/catch.hpp>

#include "tests/interop/programs/collectives/communicator_check.h"
#include "tests/unit/collectives/communicator/everyone.h"

namespace scela::collectives::test::matrix_test {
namespace {

// The cases are one node of two ranks, two nodes of two, and three nodes of which the last has one
// rank.
constexpr int kRanks[] = {2, 4, 7};
constexpr int kRanksPerNode[] = {2, 2, 3};

void all_ranks_do_operations(ProgressMode by) {
  for (std::size_t i = 0; i < std::size(kRanks); ++i) {
    CAPTURE(kRanks[i]);
    CHECK(everyone({.ranks = kRanks[i], .progress = by, .per_node = kRanksPerNode[i]},
                   [](Communicator& world) {
                     operations(world);
                     return std::string();
                   })
              .empty());
  }
}
void all_ranks_have_flights(ProgressMode by) {
  for (std::size_t i = 0; i < std::size(kRanks); ++i) {
    CAPTURE(kRanks[i]);
    CHECK(everyone({.ranks = kRanks[i], .progress = by, .per_node = kRanksPerNode[i]},
                   [by](Communicator& world) {
                     flights(world, by);
                     return std::string();
                   })
              .empty());
  }
}

TEST_CASE("matrix: operations in all forms, at once") {
  all_ranks_do_operations(ProgressMode::at_once);
}
TEST_CASE("matrix: operations in all forms, polled") {
  all_ranks_do_operations(ProgressMode::polled);
}
TEST_CASE("matrix: operations in all forms, by a thread") {
  all_ranks_do_operations(ProgressMode::thread);
}
TEST_CASE("matrix: several operations under way, at once") {
  all_ranks_have_flights(ProgressMode::at_once);
}
TEST_CASE("matrix: several operations under way, polled") {
  all_ranks_have_flights(ProgressMode::polled);
}
TEST_CASE("matrix: several operations under way, by a thread") {
  all_ranks_have_flights(ProgressMode::thread);
}

}  // namespace
}  // namespace scela::collectives::test::matrix_test
