// Tests which ranks the launcher is asked about.
#include "comm-channel/messenger/awaited_ranks.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <vector>

#include "tests/unit/comm-channel/recording_network.h"

namespace scela::channel::test::awaited_ranks_test {

TEST_CASE("channel awaited ranks: unconnected ranks of receives and of the last probe are listed") {
  const World world = apart(7);
  Peers peers(world, false);
  Matcher matcher;
  RecordingNetwork network;
  network.has_connection = [](int) { return false; };
  AwaitedRanks awaited(peers, matcher);
  CHECK(awaited.next_unconnected(network).empty());
  std::vector<Posted> receives(5);
  for (std::size_t i = 0; i < receives.size(); ++i)
    receives[i].pattern = {kWorld, std::vector{0, 2, 3, 4, kAny}[i], 1};
  for (Posted& receive : receives)
    matcher.post(receive);
  awaited.probed_in_vain(5);
  awaited.probed_in_vain(6);
  network.has_connection = [](int rank) { return rank == 3; };
  peers.record_end(4, "");
  CHECK(awaited.next_unconnected(network) == std::vector{2, 6});
  CHECK(matcher.cancel(receives[1]));
  CHECK(awaited.next_unconnected(network) == std::vector{6});
}

TEST_CASE("channel awaited ranks: many are asked about a few at a time, and each in its turn") {
  const World world = apart(70);
  const Peers peers(world, false);
  Matcher matcher;
  RecordingNetwork network;
  network.has_connection = [](int) { return false; };
  AwaitedRanks awaited(peers, matcher);
  std::vector<Posted> receives(70);
  for (int rank = 1; rank < 70; ++rank) {
    receives[static_cast<std::size_t>(rank)].pattern = {kWorld, rank, 1};
    matcher.post(receives[static_cast<std::size_t>(rank)]);
  }
  std::vector<int> asked(70);
  for (int turn = 0; turn < 3; ++turn) {
    const std::vector<int> next = awaited.next_unconnected(network);
    CHECK(next.size() == 32);
    for (const int rank : next)
      ++asked[static_cast<std::size_t>(rank)];
  }
  CHECK(asked[0] == 0);
  for (std::size_t rank = 1; rank < asked.size(); ++rank)
    CHECK((asked[rank] == 1 || asked[rank] == 2));
}

}  // namespace scela::channel::test::awaited_ranks_test
