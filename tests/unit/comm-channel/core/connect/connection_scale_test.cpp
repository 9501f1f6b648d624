// Tests how many connections 64 processes on 8 nodes make, in any order and with losses and deaths;
// Tables 4.1 and 4.2 of the ScELA thesis.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <set>

#include "tests/unit/comm-channel/core/connect/connect_random.h"

namespace connection_scale_test {

using namespace scela::channel::connect;
using namespace scela::channel::connect::test;

namespace {

constexpr std::uint32_t kRanks = 64, kPerNode = 8, kNodes = kRanks / kPerNode;

World many(Mode mode, std::uint32_t max_links = 0) {
  Options options;
  options.mode = mode;
  options.max_links = max_links;
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    nodes.push_back(rank / kPerNode);
  return World(nodes, options);
}

void connect_all(const World& world, RandomRun& run) {
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    for (PeerId peer = 0; peer < kRanks; ++peer) {
      if (world.processes[rank].node != world.processes[peer].node) run.want(rank, peer);
    }
    run.some(50);
  }
}

// Returns the number of wishes for a connection that have not come true without a reason.
int unfulfilled(const World& world) {
  int count = 0;
  for (const Process& process : world.processes) {
    if (process.gone()) continue;
    for (PeerId peer = 0; peer < kRanks; ++peer) {
      const Outcome outcome = process.outcomes[peer];
      count += outcome == Outcome::wanted || outcome == Outcome::lost;
      count += outcome == Outcome::failed && !world.processes[peer].gone();
    }
  }
  return count;
}

void all_leave(World& world, RandomRun& run) {
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    if (!world.processes[rank].gone()) run.leave(rank);
    run.some(20);
  }
  REQUIRE(run.to_rest());
  CHECK(world.queue_pairs() == 0);
}

// Returns the ranks to which a rank sends in the NAS parallel benchmarks with 64 ranks, by their
// sources: the benchmark's own partners, and those of reductions by recursive doubling.
std::set<std::uint32_t> partners(const std::string& name, std::uint32_t rank) {
  std::set<std::uint32_t> to;
  for (std::uint32_t bit = 1; bit < kRanks; bit *= 2)
    to.insert(rank ^ bit);
  const std::uint32_t column = rank % 8, row = rank / 8;
  const auto at = [](std::uint32_t r, std::uint32_t c) { return (r + 8) % 8 * 8 + (c + 8) % 8; };
  if (name == "FT" || name == "IS") {
    for (std::uint32_t peer = 0; peer < kRanks; ++peer)
      to.insert(peer);
  } else if (name == "CG") {
    for (std::uint32_t bit = 1; bit < 8; bit *= 2)
      to.insert(at(row, column ^ bit));
    to.insert(at(column, row));  // the transposed rank
  } else if (name == "LU") {
    if (row > 0) to.insert(at(row - 1, column));
    if (row < 7) to.insert(at(row + 1, column));
    if (column > 0) to.insert(at(row, column - 1));
    if (column < 7) to.insert(at(row, column + 1));
  } else if (name == "BT" || name == "SP") {
    for (const std::uint32_t step : {1U, 7U}) {  // both ways, with wrap-around
      to.insert(at(row, column + step));
      to.insert(at(row + step, column));
      to.insert(at(row + 8 - step, column + step));
    }
  } else if (name == "MG") {
    const std::uint32_t x = rank % 4, y = rank / 4 % 4, z = rank / 16;
    for (const std::uint32_t step : {1U, 3U}) {
      to.insert((x + step) % 4 + 4 * y + 16 * z);
      to.insert(x + 4 * ((y + step) % 4) + 16 * z);
      to.insert(x + 4 * y + 16 * ((z + step) % 4));
    }
  }
  return to;
}

struct Made {
  double average = 0;
  std::uint32_t least = ~0U, most = 0;
};

Made run_benchmark(const std::string& name, Mode mode) {
  World world = many(mode);
  RandomRun run(world, 11);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    for (const PeerId peer : partners(name, rank)) {
      if (world.processes[rank].node != world.processes[peer].node) run.want(rank, peer);
    }
  }
  REQUIRE(run.to_rest());
  REQUIRE(unfulfilled(world) == 0);
  Made made;
  for (const Process& process : world.processes) {
    const std::uint32_t links = process.machine.counts().links;
    made.average += static_cast<double>(links) / kRanks;
    made.least = std::min(made.least, links);
    made.most = std::max(made.most, links);
  }
  return made;
}

}  // namespace

TEST_CASE("connections of 64 ranks on 8 nodes: 7 of each by XRC, 56 by RC, as Table 4.1 has them") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    World world = many(mode);
    RandomRun run(world, 1, {5, 5});
    connect_all(world, run);
    REQUIRE(run.to_rest());
    CHECK(unfulfilled(world) == 0);
    CHECK(world.judge(true) == "");
    std::size_t held = 0;
    for (const Process& process : world.processes) {
      CHECK(process.machine.counts().links ==
            (mode == Mode::pairs ? kRanks - kPerNode : kNodes - 1));
      held += process.machine.counts().held;
    }
    // Each node has one end for each process elsewhere. All eight processes there hold it, or one
    // of them made it.
    const std::size_t ends = mode == Mode::pairs ? 0 : kRanks * (kNodes - 1);
    CHECK(world.targets.size() == ends);
    CHECK(held == ends * (mode == Mode::shared ? kPerNode : 1));
    all_leave(world, run);
  }
}

TEST_CASE("connections of 64 ranks on 8 nodes: deaths fail only the dead, and nothing is left") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      World world = many(mode);
      RandomRun run(world, seed, {3, 3});
      connect_all(world, run);
      scela::Random random(seed);
      for (int deaths = 0; deaths < 10; ++deaths) {
        run.some(random.below(300));
        const auto victim = static_cast<std::uint32_t>(random.below(kRanks));
        if (!world.processes[victim].gone()) run.kill(victim);
      }
      REQUIRE(run.to_rest());
      CHECK(unfulfilled(world) == 0);
      CHECK(world.judge(true) == "");
      for (const Process& process : world.processes) {
        if (mode != Mode::pairs && !process.gone())
          CHECK(process.machine.counts().links <= kNodes - 1);
      }
      all_leave(world, run);
    }
  }
}

TEST_CASE("connections of 64 ranks on 8 nodes: with three links each, every node has its turn") {
  for (const Mode mode : {Mode::shared, Mode::owned, Mode::pairs}) {
    World world = many(mode, 3);
    RandomRun run(world, 5, {2, 2});
    connect_all(world, run);
    REQUIRE(run.to_rest());
    CHECK(unfulfilled(world) == 0);
    CHECK(world.judge(true) == "");
    for (const Process& process : world.processes) {
      CHECK(process.machine.counts().links <= 3);
      CHECK(process.machine.counts().closed_idle > 0);
    }
    all_leave(world, run);
  }
}

TEST_CASE("connections of the NAS benchmarks: as many as Table 4.2 has, by RC and by XRC") {
  struct Row {
    const char* name;
    double rc, xrc;  // the thesis's averages
    double by;       // how far our average may be from it
  };
  // FT and IS leave out peers that never had a message. SP has BT's pattern here.
  const Row rows[] = {{"BT", 6.06, 4.06, 0.1}, {"CG", 3.84, 3.5, 0.1},   {"EP", 3, 3, 0},
                      {"FT", 55.91, 6.95, .1}, {"IS", 53.16, 6.98, 2.9}, {"LU", 3.81, 3.81, 0.1},
                      {"MG", 4.98, 4, 0.1},    {"SP", 6.06, 3.73, 0.3}};
  std::printf("queue pairs of a process, 64 ranks on 8 nodes: average (least to most); thesis\n");
  for (const Row& row : rows) {
    const Made rc = run_benchmark(row.name, Mode::pairs);
    const Made xrc = run_benchmark(row.name, Mode::shared);
    std::printf("  %s  RC %5.2f (%2u to %2u) %5.2f   XRC %4.2f (%u to %u) %4.2f\n", row.name,
                rc.average, rc.least, rc.most, row.rc, xrc.average, xrc.least, xrc.most, row.xrc);
    CHECK(std::abs(rc.average - row.rc) <= row.by);
    CHECK(std::abs(xrc.average - row.xrc) <= row.by);
    CHECK(xrc.most <= kNodes - 1);
    CHECK(xrc.average <= rc.average);
  }
}

}  // namespace connection_scale_test
