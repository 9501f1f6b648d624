// Tests the command line of scela-perf.
#include "perf/core/options.h"

#include <catch2/catch.hpp>

namespace scela::perf::options_test {
namespace {

Result<Options> parsed(std::initializer_list<std::string_view> words) {
  const std::vector<std::string_view> list(words);
  return parse_options(list);
}

TEST_CASE("perf options: sizes are read in their usual spellings") {
  const auto options = parsed({"latency", "--sizes", "0,8,64K,4M"});
  REQUIRE(options);
  CHECK(options->bench == "latency");
  CHECK(options->sizes == std::vector<std::size_t>{0, 8, 65536, 4194304});
}

TEST_CASE("perf options: a benchmark has its usual sizes, no peers and two ranks") {
  const auto options = parsed({"rate"});
  REQUIRE(options);
  CHECK(options->sizes == usual_sizes("rate"));
  CHECK(options->peers.empty());
  CHECK(options->ranks == 2);
  CHECK(options->nodes == 1);
  CHECK(options->pin);
}

TEST_CASE("perf options: unknown words are refused with those that there are") {
  const auto why = [](std::vector<std::string_view> words) {
    return parse_options(words).error().why;
  };
  CHECK(why({"latenzy"}) ==
        "there is no such benchmark (there are latency, bandwidth, bidirectional, rate, pairs, "
        "memory, overlap, noise, coll)");
  CHECK(why({"coll", "scater"}).find("there are barrier, bcast") != std::string::npos);
}

TEST_CASE("perf options: options for a separate job only are reported") {
  const auto own = [](std::vector<std::string_view> words) {
    return parse_options(words)->of_own_job;
  };
  CHECK(own({"latency", "--turns", "1"}).empty());
  CHECK(own({"latency", "--nodes", "2"}) == "--nodes");
  CHECK(own({"latency", "--vs", "mpich", "-n", "2"}) == "--vs");
}

TEST_CASE("perf options: peers, ranks, nodes and turns") {
  const auto options = parsed({"bandwidth", "--vs", "mpich,openmpi", "-n", "8", "--nodes", "4",
                               "--turns", "7", "--no-pin", "--json"});
  REQUIRE(options);
  CHECK(options->peers == std::vector<std::string>{"mpich", "openmpi"});
  CHECK(options->ranks == 8);
  CHECK(options->nodes == 4);
  CHECK(options->turns == 7);
  CHECK_FALSE(options->pin);
  CHECK(options->json);
}

TEST_CASE("perf options: patterns, a delay, and contestants that are no libraries") {
  const auto options = parsed({"memory", "--pattern", "CG,LU", "--vs", "write,offloaded"});
  REQUIRE(options);
  CHECK(options->patterns == std::vector<std::string>{"CG", "LU"});
  CHECK(options->peers == std::vector<std::string>{"write", "offloaded"});
  CHECK(options->ranks == usual_ranks("memory"));
  CHECK(parsed({"memory"})->patterns == std::vector<std::string>{"all"});
  CHECK(parsed({"noise", "--delay", "250"})->delay_ms == 250);
  CHECK(parsed({"bandwidth", "--vs", "copy"})->peers == std::vector<std::string>{"copy"});
}

TEST_CASE("perf options: contestants are kept where it is said, and may be compiled only") {
  CHECK(parsed({"latency"})->keep.empty());
  const auto options = parsed({"latency", "--vs", "mpich", "--turns", "0", "--keep", "some/where"});
  REQUIRE(options);
  CHECK(options->keep == "some/where");
  CHECK(options->turns == 0);
}

TEST_CASE(
    "perf options: collective operations, by which algorithm and executor, how many at once") {
  const auto options = parsed({"coll", "allreduce,barrier", "--algorithm", "ring", "--executor",
                               "thread", "--concurrent", "16", "--vs", "mpich", "-n", "4"});
  REQUIRE(options);
  CHECK(options->action == Options::Action::measure);
  CHECK(options->ops == std::vector<std::string>{"allreduce", "barrier"});
  CHECK(options->algorithm == "ring");
  CHECK(options->executor == "thread");
  CHECK(options->concurrent == 16);
  CHECK(options->sizes == usual_sizes("coll"));
  const auto plain = parsed({"coll", "bcast"});
  REQUIRE(plain);
  CHECK(plain->executor == "polled");
  CHECK(plain->concurrent == 1);
  const auto table = parsed({"coll", "--explain"});
  REQUIRE(table);
  CHECK(table->action == Options::Action::explain);
  CHECK(table->ops.empty());
  CHECK(table->sizes.empty());
}

TEST_CASE("perf options: how often operations are helped on, and where ranks run") {
  const auto options =
      parsed({"coll", "allgather", "--progress", "1K,64K", "--executor", "engine", "--apart"});
  REQUIRE(options);
  CHECK(options->progress == std::vector<std::size_t>{1024, 65536});
  CHECK(options->executor == "engine");
  CHECK(options->apart);
  const auto plain = parsed({"coll", "bcast"});
  REQUIRE(plain);
  CHECK(plain->progress.empty());
  CHECK_FALSE(plain->apart);
  const auto census = parsed({"coll", "--census", "-n", "128", "--nodes", "16"});
  REQUIRE(census);
  CHECK(census->action == Options::Action::census);
  CHECK(census->ops.empty());
}

TEST_CASE("perf options: impossible values are refused, by name") {
  const auto why = [](std::initializer_list<std::string_view> words) {
    const auto options = parsed(words);
    REQUIRE_FALSE(options);
    return options.error().text();
  };
  CHECK_THAT(why({}), Catch::Contains("names no benchmark"));
  CHECK_THAT(why({"latancy"}), Catch::Contains("'latancy'"));
  CHECK_THAT(why({"latency", "rate"}), Catch::Contains("'rate'"));
  CHECK_THAT(why({"latency", "--sizes", "8,,9"}), Catch::Contains("--sizes 8,,9"));
  CHECK_THAT(why({"latency", "--sizes", "4G"}), Catch::Contains("--sizes 4G"));
  CHECK_THAT(why({"latency", "--sizes", "-1"}), Catch::Contains("--sizes -1"));
  CHECK_THAT(why({"latency", "--vs", "lam"}), Catch::Contains("--vs lam"));
  CHECK_THAT(why({"latency", "--vs", "copy", "-n", "4"}), Catch::Contains("--vs copy"));
  CHECK_THAT(why({"memory", "--pattern", "EQ"}), Catch::Contains("--pattern EQ"));
  CHECK_THAT(why({"memory", "--pattern", "BT", "-n", "8"}), Catch::Contains("--pattern BT with 8"));
  CHECK_THAT(why({"latency", "--turns", "0"}), Catch::Contains("--turns 0"));
  CHECK_THAT(why({"latency", "--turns", "-1"}), Catch::Contains("--turns -1"));
  CHECK_THAT(why({"latency", "--rounds", "0", "--keep", "x"}), Catch::Contains("--rounds 0"));
  CHECK_THAT(why({"latency", "--keep", ""}), Catch::Contains("--keep"));
  CHECK_THAT(why({"latency", "--turns"}), Catch::Contains("missing"));
  CHECK_THAT(why({"latency", "-n", "1"}), Catch::Contains("two ranks"));
  CHECK_THAT(why({"latency", "-n", "4", "--nodes", "3"}), Catch::Contains("--nodes 3"));
  CHECK_THAT(why({"latency", "--fast"}), Catch::Contains("--fast"));
  CHECK_THAT(why({"coll"}), Catch::Contains("names no operation"));
  CHECK_THAT(why({"coll", "alreduce"}), Catch::Contains("'alreduce'"));
  CHECK_THAT(why({"coll", "bcast,"}), Catch::Contains("'bcast,'"));
  CHECK_THAT(why({"coll", "bcast", "reduce"}), Catch::Contains("'reduce'"));
  CHECK_THAT(why({"coll", "bcast", "--executor", "nobody"}), Catch::Contains("--executor nobody"));
  CHECK_THAT(why({"coll", "bcast", "--concurrent", "0"}), Catch::Contains("--concurrent 0"));
  CHECK_THAT(why({"coll", "bcast", "--algorithm", ""}), Catch::Contains("--algorithm"));
  CHECK_THAT(why({"coll", "bcast", "--vs", "copy"}), Catch::Contains("--vs copy"));
  CHECK_THAT(why({"coll", "--explain", "--vs", "mpich"}), Catch::Contains("--explain --vs"));
  CHECK_THAT(why({"latency", "--explain"}), Catch::Contains("--explain"));
  CHECK_THAT(why({"latency", "--algorithm", "ring"}), Catch::Contains("--algorithm"));
  CHECK_THAT(why({"latency", "--concurrent", "2"}), Catch::Contains("--concurrent"));
  CHECK_THAT(why({"latency", "--progress", "2K"}), Catch::Contains("--progress"));
  CHECK_THAT(why({"coll", "bcast", "--progress", "2K,0"}), Catch::Contains("--progress 2K,0"));
  CHECK_THAT(why({"coll", "bcast", "--progress", "often"}), Catch::Contains("--progress often"));
  CHECK_THAT(why({"latency", "--census"}), Catch::Contains("--census"));
  CHECK_THAT(why({"coll", "--census", "--vs", "mpich"}), Catch::Contains("--census --vs"));
  CHECK_THAT(why({"coll", "bcast", "--apart", "--no-pin"}), Catch::Contains("--apart --no-pin"));
  CHECK_THAT(why({"latency", "--vs", "copy", "--apart"}), Catch::Contains("--apart --vs copy"));
  CHECK_THAT(why({"coll", "bcast", "--vs", "mpich", "--apart"}),
             Catch::Contains("--apart --vs mpich"));
}

}  // namespace
}  // namespace scela::perf::options_test
