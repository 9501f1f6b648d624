#include "bench/programs/launch_model.h"

#include <catch2/catch.hpp>

namespace scela::bench::launch_model_test {
namespace {

const Constants kThesis{"thesis", 5.0, 2.8, 2.0, 0.0};

TEST_CASE("The launch model evaluates the formulas of Table 2.1") {
  CHECK(without_agents(kThesis, 64, 8) == Approx(64 * 8 * 7.0));
  CHECK(with_agents(kThesis, 64, 8) == Approx(64 * 7.8 + 8 * 2.0));
  // The constants were derived from Figs 2.5 and 2.6, in seconds at 64 x 8.
  CHECK(with_agents(kThesis, 64, 8) / 1e3 == Approx(0.5).margin(0.05));
  CHECK(without_agents(kThesis, 64, 8) / 1e3 == Approx(3.6).margin(0.1));
}

TEST_CASE("Doubling starts eight agents in three steps and one, as in Fig. 2.2") {
  CHECK(doubling_steps(1) == 1);
  CHECK(doubling_steps(2) == 2);
  CHECK(doubling_steps(8) == 4);
  CHECK(doubling_steps(9) == 5);
}

TEST_CASE("A tree as wide as the job is the flat launch, a tree of degree one a chain") {
  for (const std::uint32_t nodes : {1u, 2u, 7u, 64u, 500u}) {
    CHECK(tree(kThesis, nodes, 4, nodes, Starts::one_by_one) ==
          Approx(with_agents(kThesis, nodes, 4)));
    CHECK(tree(kThesis, nodes, 4, nodes, Starts::together) == Approx(7.8 + 4 * 2.0));
    CHECK(tree(kThesis, nodes, 4, 1, Starts::together) == Approx(with_agents(kThesis, nodes, 4)));
  }
}

TEST_CASE("A tree of height three takes three starts when children start together") {
  // Degree 4: 4 + 16 + 64 nodes in three levels.
  CHECK(tree(kThesis, 84, 1, 4, Starts::together) == Approx(3 * 7.8 + 2.0));
  CHECK(tree(kThesis, 84, 1, 4, Starts::one_by_one) == Approx(3 * 4 * 7.8 + 2.0));
  Constants hops = kThesis;
  hops.hop = 1;
  CHECK(tree(hops, 84, 1, 4, Starts::together) == Approx(3 * 7.8 + 2 * 3 + 2.0));
}

TEST_CASE("The modelled tree starts a million ranks sooner than a flat launch starts 32,768") {
  const auto degree = choose_degree(62'500, 16, TreeLimits{});
  REQUIRE(degree);
  const double million = tree(kThesis, 62'500, 16, *degree, Starts::one_by_one);
  CHECK(million < with_agents(kThesis, 2048, 16));
  CHECK(tree(kThesis, 62'500, 16, *degree, Starts::together) < million);
}

}  // namespace
}  // namespace scela::bench::launch_model_test
