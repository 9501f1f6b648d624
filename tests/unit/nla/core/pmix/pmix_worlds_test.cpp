#include "nla/core/pmix/pmix_worlds.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace pmix_worlds_test {

using namespace scela;
using namespace scela::nla;

namespace {

struct Fixture {
  Fixture() {
    job.id = "job-1";
    job.wdir = "/tmp";
    job.map = RankMap::from_blocks({{0, 2, 2}});
    job.apps = {App{{"./p", "-x"}, {}, "", "", RankSet::run(0, 4)}};
  }
  // Rank 0 has started two ranks more, on the node 1.
  void grow() {
    World more;
    more.first = 4;
    more.map = RankMap::from_blocks({{1, 1, 2}});
    more.apps = {App{{"./q"}, {}, "/home", "", RankSet::run(4, 2)}};
    more.stops = spawn_stops;
    REQUIRE(job.add(more));
  }
  bool environment(Rank rank) {
    pmix::msg::Environment message{rank, {"A=" + std::to_string(rank)}};
    return worlds.receive(message);
  }
  bool ready() {
    pmix::msg::Ready message;
    return worlds.receive(message);
  }
  Job job;
  Stops spawn_stops;
  std::vector<pmix::msg::World> told;
  PmixWorlds worlds{job, 1, [this](pmix::Message message) {
                      told.push_back(std::get<pmix::msg::World>(message));
                    }};
};

}  // namespace

TEST_CASE("PMIx worlds: one is ready when the server has given every rank here its environment") {
  Fixture f;
  CHECK_FALSE(f.ready());  // the server was told of none
  f.worlds.tell_new();
  f.worlds.tell_new();
  REQUIRE(f.told.size() == 1);
  CHECK(f.told[0].first == 0);
  CHECK(f.told[0].neighbours == 0);
  REQUIRE(f.told[0].programs.size() == 1);
  CHECK(f.worlds.is_any_awaited());
  CHECK_FALSE(f.environment(1));  // it is of the other node
  CHECK(f.environment(2));
  CHECK_FALSE(f.environment(2));
  CHECK_FALSE(f.ready());
  CHECK(f.environment(3));
  CHECK(f.worlds.ready() == 0);
  CHECK(f.ready());
  CHECK(f.worlds.ready() == 1);
  CHECK_FALSE(f.worlds.is_any_awaited());
  CHECK(f.worlds.environment(3) == std::vector<std::string>{"A=3"});
  CHECK(f.worlds.environment(0).empty());
}

TEST_CASE("PMIx worlds: the server is told which ranks of each world a debugger stops") {
  Fixture f;
  f.job.stops.in_init = RankSet::run(1, 2);
  f.spawn_stops.on_exec = RankSet::single(1);
  f.grow();
  f.worlds.tell_new();
  REQUIRE(f.told.size() == 2);
  CHECK(f.told[0].stops == Stops{{}, RankSet::run(1, 2)});
  CHECK(f.told[1].stops == Stops{RankSet::single(1), {}});
  CHECK(f.job.stops_on_exec(5));
  for (const Rank rank : {0u, 1u, 4u})
    CHECK_FALSE(f.job.stops_on_exec(rank));
}

TEST_CASE("PMIx worlds: worlds of spawned ranks are told in order") {
  Fixture f;
  f.grow();
  f.worlds.tell_new();
  REQUIRE(f.told.size() == 2);
  CHECK(f.told[1].first == 4);
  CHECK(f.told[1].neighbours == 2);
  CHECK(f.told[1].nspace != f.told[0].nspace);
  CHECK_FALSE(f.environment(4));  // its world is the second
  CHECK(f.environment(2));
  CHECK(f.environment(3));
  CHECK(f.ready());
  CHECK(f.environment(4));
  CHECK(f.environment(5));
  CHECK(f.ready());
  CHECK(f.worlds.ready() == 2);
}

}  // namespace pmix_worlds_test
