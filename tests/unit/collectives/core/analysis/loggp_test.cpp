// Compares simulated times with the closed formulas of the model.
#include "collectives/core/analysis/loggp.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "tests/unit/collectives/core/analysis/hand_written.h"

namespace loggp_test {

using namespace scela;
using namespace scela::collectives;

namespace {

constexpr double kBytes = 1000;

std::vector<double> times(const Lists& lists, const Machine& machine, std::uint64_t bytes = 1000) {
  const auto count = static_cast<std::uint32_t>(lists.size());
  const Layout layout = {{BlockSizes::equal(count, bytes), BlockSizes::equal(count, bytes),
                          BlockSizes::equal(count, bytes)}};
  auto out = simulate(lists, std::span(&layout, 1), machine);
  if (!out) FAIL(out.error().text());
  return *out;
}

double last(const std::vector<double>& done) {
  return *std::max_element(done.begin(), done.end());
}

}  // namespace

TEST_CASE("LogGP: a flat tree's last rank has a message after all others, by port or processor") {
  for (const double overhead : {300.0, 5000.0}) {
    Machine machine;
    machine.network = {2000, overhead, 40, 0.5};
    const double long_for = (kBytes - 1) * 0.5;
    const double between = std::max(overhead, 40 + long_for);
    for (const int ranks : {2, 3, 8, 100}) {
      const std::vector<double> done = times(flat_bcast(ranks), machine);
      for (int rank = 1; rank < ranks; ++rank) {
        CHECK(done[static_cast<std::size_t>(rank)] ==
              Approx(overhead + (rank - 1) * between + long_for + 2000 + overhead));
      }
      // The root is done when its last byte has left.
      CHECK(done[0] == Approx(overhead + (ranks - 2) * between + long_for));
    }
  }
}

TEST_CASE("LogGP: a binomial tree takes as many messages as it is high") {
  Machine machine;
  machine.network = {2000, 300, 40, 0.5};
  const double hop = 300 + (kBytes - 1) * 0.5 + 2000 + 300;
  for (int height = 1; height <= 10; ++height) {
    CHECK(last(times(binomial_bcast(1 << height), machine)) == Approx(height * hop));
  }
}

TEST_CASE("LogGP: a ring takes a message a step, and exchanges by doubling grow") {
  Machine machine;
  machine.network = {2000, 300, 40, 0.5};
  machine.copy_per_byte = 0.25;
  const double hop = 300 + (kBytes - 1) * 0.5 + 2000 + 300;
  for (const int ranks : {2, 5, 30}) {
    for (const double done : times(ring_allgather(ranks), machine))
      CHECK(done == Approx(kBytes * 0.25 + (ranks - 1) * hop));
  }
  double doubling = kBytes * 0.25;
  for (int blocks = 1; blocks < 64; blocks *= 2)
    doubling += 300 + (blocks * kBytes - 1) * 0.5 + 2000 + 300;
  for (const double done : times(doubling_allgather(64), machine))
    CHECK(done == Approx(doubling));
}

TEST_CASE("LogGP: messages that arrive at one port at once pass it one after the other") {
  // In a flat gather of 5 ranks, four messages arrive together.
  Lists lists(5);
  lists[0].blocks[2] = 5;
  for (int peer = 1; peer < 5; ++peer) {
    const Blocks block = {Space::scratch, static_cast<std::uint32_t>(peer), 1};
    lists[0].tasks.push_back(receive(peer, block));
    lists[static_cast<std::size_t>(peer)].blocks[0] = 1;
    lists[static_cast<std::size_t>(peer)].tasks = {send(0, {Space::input, 0, 1}), wait_sent(0)};
  }
  for (int peer = 1; peer < 5; ++peer)
    lists[0].tasks.push_back(wait_received(peer));
  Machine machine;
  machine.network = {2000, 100, 40, 0.5};
  const double long_for = (kBytes - 1) * 0.5;
  CHECK(times(lists, machine)[0] == Approx(100 + 2000 + 4 * long_for + 3 * 40 + 100));
  // The order of the waits makes no difference to the port, only to the processor.
  std::swap(lists[0].tasks[4], lists[0].tasks[7]);
  CHECK(times(lists, machine)[0] == Approx(100 + 2000 + 4 * long_for + 3 * 40 + 4 * 100));
}

TEST_CASE("LogGP: peers of a node have figures of their own, and a port of their own") {
  Machine machine;
  machine.network = {2000, 300, 40, 0.5};
  machine.node = {100, 50, 10, 0.125};
  machine.node_of = [](int rank) { return rank / 2; };
  // Rank 0 sends to rank 1 on its node, then to ranks 2 and 3 on the other node.
  const std::vector<double> done = times(flat_bcast(4), machine);
  const double near = (kBytes - 1) * 0.125;
  const double far = (kBytes - 1) * 0.5;
  CHECK(done[1] == Approx(50 + near + 100 + 50));
  CHECK(done[2] == Approx(50 + 300 + far + 2000 + 300));
  CHECK(done[3] == Approx(50 + 300 + far + 40 + far + 2000 + 300));
  machine.node_of = nullptr;
  CHECK(times(flat_bcast(4), machine)[1] == Approx(300 + far + 2000 + 300));
}

TEST_CASE(
    "LogGP: reductions take their time, empty messages no bytes, held sends begin when enabled") {
  Machine machine;
  machine.network = {2000, 300, 40, 0.5};
  machine.reduce_per_byte = 2;
  const std::string head = "blocks in 1 out 1 scratch 1\n";
  const Lists lists = lists_of(
      {head + "receive 1 -> scratch[0]\nwait received 1 1\nreduce scratch[0] -> out[0]",
       head + "send 0 <- in[0] held\nreceive 2 -> out[0+0]\nwait received 2 1\nenable 0 1\n"
              "wait sent 0 1",
       head + "send 1 <- out[0+0]\nwait sent 1 1"});
  const double empty = 300 + 2000 + 300;
  const std::vector<double> done = times(lists, machine);
  CHECK(done[2] == Approx(300));
  CHECK(done[1] == Approx(empty + 300 + (kBytes - 1) * 0.5));
  CHECK(done[0] == Approx(2 * empty + (kBytes - 1) * 0.5 + kBytes * 2));
  const Lists stuck = lists_of({head + "wait received 1 1", head});
  CHECK_FALSE(simulate(stuck, {}, machine));
}

}  // namespace loggp_test
