// The state that a link keeps for a rank, without a device (comm-channel/net/rank_table.h).
#include "comm-channel/net/rank_table.h"

#include <catch2/catch.hpp>
#include <chrono>

namespace rank_table_test {

using namespace scela::channel;
using connect::Time;

namespace {

World three_nodes() {
  World world;
  world.rank = 0;
  world.size = 5;
  world.node_of = {0, 1, 1, 2, 2};
  world.nodes = 3;
  return world;
}

}  // namespace

TEST_CASE("link turns: with limited links the next one is asked for when the one before is used") {
  const World world = three_nodes();
  LinkTurns turns(world, false, 1);
  CHECK(turns.begin(1));
  CHECK(turns.begin(2));  // on the same node
  CHECK_FALSE(turns.begin(3));
  turns.end(2);
  CHECK(turns.begin(3));
  CHECK_FALSE(turns.begin(1));
}

TEST_CASE("link turns: with RC each rank has a link of its own") {
  const World world = three_nodes();
  LinkTurns turns(world, true, 1);
  CHECK(turns.begin(1));
  CHECK_FALSE(turns.begin(2));
  turns.end(1);
  CHECK(turns.begin(2));
}

TEST_CASE("link turns: links that are not limited are asked for at any time") {
  const World world = three_nodes();
  LinkTurns turns(world, true, 0);
  for (const int rank : {1, 2, 3, 4})
    CHECK(turns.begin(rank));
}

TEST_CASE("rank paths: messages of a new pair wait until those of the one before are complete") {
  RankPaths paths;
  PortPair before, after;
  paths.on_posted(0, &before, 100);
  paths.on_posted(0, &before, 100);
  CHECK_FALSE(paths.must_wait_for_others(&before));
  CHECK(paths.must_wait_for_others(&after));
  paths.on_complete(0);
  CHECK(paths.must_wait_for_others(&after));
  paths.on_complete(0);
  CHECK_FALSE(paths.must_wait_for_others(&after));
}

TEST_CASE("rank paths: a port has drained once, when its last request is complete") {
  RankPaths paths;
  PortPair pair;
  CHECK_FALSE(paths.take_drained(1));
  paths.on_posted(1, &pair, 0);
  paths.set_draining(1, true);
  CHECK_FALSE(paths.take_drained(1));
  CHECK_FALSE(paths.take_drained(0));
  paths.on_complete(1);
  CHECK(paths.take_drained(1));
  CHECK_FALSE(paths.take_drained(1));
}

TEST_CASE("connection attempts: silence counts from the first failure since the last connection") {
  ConnectionAttempt attempt;
  attempt.begin(Time(10));
  attempt.begin(Time(20));
  CHECK(attempt.is_wanted_since(Time(15), Time(25)));
  CHECK_FALSE(attempt.is_wanted_since(Time(16), Time(25)));
  CHECK(attempt.fail(Time(30)) == Time(0));
  CHECK(attempt.fail(Time(50)) == Time(20));
  CHECK(attempt.has_failed());
  attempt.succeed();
  CHECK_FALSE(attempt.has_failed());
  CHECK_FALSE(attempt.is_wanted());
  CHECK(attempt.fail(Time(70)) == Time(0));
}

}  // namespace rank_table_test
