#include "launcher/plan/host_topologies.h"

#include <catch2/catch.hpp>

#include "tests/support/hwloc_topology.h"

namespace host_topologies_test {

using namespace scela;

namespace {

LaunchContext context() {
  LaunchContext out;
  out.job_id = "j1";
  out.host_name = "here";
  out.directory = "/data";
  return out;
}

Options options(std::vector<std::string> words) {
  OptionSources sources;
  sources.words = std::move(words);
  auto parsed = parse_options(sources);
  REQUIRE(parsed);
  return *parsed;
}

// 2 sockets with 4 cores each, 2 threads a core: cpu = 2 core + thread.
const Topology& machine() {
  static const Topology made = HwlocTopology::synthetic("pack:2 l3:1 core:4 pu:2");
  REQUIRE(made.processors().size() == 16);
  return made;
}

std::string bound(const Options& asked, const nla::TopologyList& told) {
  auto made = make_plan(asked, context());
  REQUIRE(made);
  CHECK(needs_topologies(*made, asked));
  use_topologies(*made, told);
  if (made->slots_from_processors) REQUIRE(remap_ranks(*made, asked, {}));
  return bindings_text(bindings_of(*made));
}

std::string cores(std::uint32_t count) {
  std::vector<Processor> all;
  for (std::uint32_t cpu = 0; cpu < count; ++cpu)
    all.push_back({cpu, 0, cpu});
  return Topology::from(std::move(all)).bytes();
}

}  // namespace

TEST_CASE(
    "hosts that count their processors get ranks once they have said how many they have room for") {
  const Options asked = options({"-w", "a,b:3,c,d", "--map-by", "core:pe=2", "./p"});
  auto made = make_plan(asked, context());
  REQUIRE(made);
  CHECK(made->slots_from_processors);
  CHECK_FALSE(made->once_per_host);
  CHECK(made->hosts.size() == 4);
  CHECK(made->degree <= kDefaultMaxConn - 64);
  // c says nothing; what is stated for b counts.
  use_topologies(*made, {{cores(5), RankSet::single(0)},
                         {cores(16), RankSet::single(1)},
                         {cores(1), RankSet::single(3)}});
  REQUIRE(remap_ranks(*made, asked, {}));
  CHECK(made->job.map.ranks_of(0).text() == "0-1");
  CHECK(made->job.map.ranks_of(1).text() == "2-4");
  CHECK(made->job.map.ranks_of(2).text() == "5");
  CHECK(made->job.map.ranks_of(3).empty());

  const Options many = options({"-w", "a,b", "-n", "9", "--cpus-per-rank", "2", "./p"});
  auto full = make_plan(many, context());
  REQUIRE(full);
  use_topologies(*full, {{cores(8), RankSet::run(0, 2)}});
  const auto refused = remap_ranks(*full, many, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::usage);
  CHECK(refused.error().text() ==
        "place the ranks: the program has 9 ranks, but the processors of its hosts make 8 slots "
        "(start fewer with -n, name more hosts, or allow it with --oversubscribe)");
}

TEST_CASE("where ranks will be bound is known once the hosts have told of their processors") {
  const Topology some = machine().restricted(CpuSet::parse("4-9").value(), Restriction::cgroup);
  const nla::TopologyList told = {{machine().bytes(), RankSet::parse("0,2").value()},
                                  {some.bytes(), RankSet::single(1)},
                                  {"no topology", RankSet::single(3)}};
  CHECK(bound(options({"--show-map", "-w", "node[0-3]", "--map-by", "socket:pe=2", "./p"}), told) ==
        "bindings:\n"
        "node[0,2]: 8 cores (16 processors)\n"
        "  ranks 0,5: socket 0[core 0-1[hwt 0-1]], cpus 0-3\n"
        "  ranks 1,6: socket 1[core 4-5[hwt 0-1]], cpus 8-11\n"
        "  ranks 2,7: socket 0[core 2-3[hwt 0-1]], cpus 4-7\n"
        "  ranks 3,8: socket 1[core 6-7[hwt 0-1]], cpus 12-15\n"
        "node1: 3 cores (6 processors), cpus 4-9 of 16: the control group of the job (cpuset) "
        "allows no more\n"
        "  rank 4: socket 0[core 2-3[hwt 0-1]], cpus 4-7\n"
        "node3: it does not tell which processors it has\n");
}

TEST_CASE("a plan that a node cannot hold is reported before the node is asked") {
  const std::string text =
      bound(options({"--show-map", "-w", "a:2,b:2", "--bind-to", "core", "-n", "4", "./p"}),
            {{cores(2), RankSet::single(0)}, {cores(1), RankSet::single(1)}});
  CHECK(text.find("a: 2 cores\n  rank 0: socket 0[core 0[hwt 0]], cpus 0\n  rank 1:") !=
        std::string::npos);
  CHECK(
      text.find("b: bind 2 ranks to cores of their own: the node has room for 1: it has 1 core ") !=
      std::string::npos);
}

TEST_CASE("simulated nodes tell of one machine, and each binds within its share") {
  const Options asked = options({"--show-map", "--sim-nodes", "4", "--ppn", "2", "--bind-to",
                                 "hwthread", "--cpus-per-rank", "2", "./p"});
  const std::string text = bound(asked, {{machine().bytes(), RankSet::run(0, 4)}});
  CHECK(text.find("sim3: 2 cores (4 processors), cpus 12-15 of 16: simulated nodes share out") !=
        std::string::npos);
  CHECK(text.find("  rank 7: socket 1[core 7[hwt 0-1]], cpus 14-15\n") != std::string::npos);
}

TEST_CASE("cores that a rankfile has chosen are shown, and ranks that are not bound") {
  Options asked = options({"--show-map", "--rankfile", "ranks", "./p"});
  asked.rank_places = {{"a", CoreChoice{1, RankSet::single(2)}}, {"a", {}}};
  CHECK(bound(asked, {{machine().bytes(), RankSet::single(0)}}) ==
        "bindings:\n"
        "a: 8 cores (16 processors)\n"
        "  rank 0: socket 1[core 6[hwt 0-1]], cpus 12-13\n"
        "  rank 1: not bound\n");
}

TEST_CASE("nodes without an agent are not said to bind anything") {
  const Options asked = options({"--show-map", "-w", "a,b,c", "--bind-to", "core", "true"});
  auto made = make_plan(asked, context());
  REQUIRE(made);
  CHECK(made->once_per_host);
  use_topologies(*made, {{cores(1), RankSet::parse("0,2").value()}});
  CHECK(bindings_text(bindings_of(*made, RankSet::single(1))) ==
        "bindings:\na,c: 1 core\n  ranks 0,2: socket 0[core 0[hwt 0]], cpus 0\n");
}

TEST_CASE("no host is asked for facts on which nothing depends") {
  for (const auto& words : {std::vector<std::string>{"--bind-to", "core", "./p"},
                            std::vector<std::string>{"--show-map", "./p"}}) {
    const Options asked = options(words);
    CHECK_FALSE(needs_topologies(make_plan(asked, context()).value(), asked));
  }
}

TEST_CASE("where no host has what a rank needs, the one that has most is named") {
  const Options asked = options({"-w", "a,b,c", "--cpus-per-rank", "12", "./p"});
  auto made = make_plan(asked, context());
  REQUIRE(made);
  use_topologies(
      *made, {{cores(2), RankSet::parse("0,2").value()}, {machine().bytes(), RankSet::single(1)}});
  const auto refused = remap_ranks(*made, asked, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().why.find("the largest host (b) has 8") != std::string::npos);
  // Not one that has no agent.
  const auto without = remap_ranks(*made, asked, RankSet::single(1));
  REQUIRE_FALSE(without);
  CHECK(without.error().why.find("the largest host (a) has 2") != std::string::npos);
  // Its largest socket, where a rank's cores are to lie in one.
  const Options by_socket = options({"-w", "a,b,c", "--map-by", "socket:pe=6", "./p"});
  auto sockets = make_plan(by_socket, context());
  REQUIRE(sockets);
  use_topologies(*sockets, {{machine().bytes(), RankSet::run(0, 3)}});
  const auto none = remap_ranks(*sockets, by_socket, {});
  REQUIRE_FALSE(none);
  CHECK(none.error().why ==
        "a rank needs 6 cores of the same socket; the largest socket (of a) has 4");
}

TEST_CASE("impossible topologies from agents take bounded memory and no other host's slots") {
  const Options asked = options({"-w", "a,b", "--map-by", "core", "./p"});
  auto made = make_plan(asked, context());
  REQUIRE(made);
  // 65,536 processors in some 60 bytes, of 100 kinds.
  std::vector<Processor> all;
  for (std::uint32_t cpu = 0; cpu < kMaxCpus; ++cpu)
    all.push_back({cpu, 0, cpu});
  const std::string vast = Topology::from(std::move(all)).bytes();
  nla::TopologyList told;
  for (std::uint8_t kind = 0; kind < 100; ++kind) {
    std::string bytes = vast;
    bytes[0] = static_cast<char>(0x80 + kind);  // of so many more that are on line
    told.emplace_back(std::move(bytes), RankSet::single(1));
  }
  told.emplace_back(cores(3), RankSet::single(0));
  told.emplace_back(cores(5), RankSet::run(0, 2));
  SECTION("a node has one machine") {
    use_topologies(*made, told);
    CHECK(made->slots[0] == 3u);
    CHECK(made->slots[1] == 5u);
    CHECK(made->machines.size() == 2);
  }
  SECTION("and all have a bound") {
    for (std::uint32_t i = 0; i < 100; ++i)
      told[i].second = RankSet::single(100 + i);
    use_topologies(*made, told);
    CHECK(made->machines.size() < 20);
    CHECK(made->slots[0] == 3u);
  }
  SECTION("nothing is kept where nothing depends on it") {
    auto plain = make_plan(options({"-w", "a,b", "--bind-to", "none", "./p"}), context());
    REQUIRE(plain);
    use_topologies(*plain, told);
    CHECK(plain->machines.empty());
  }
}

}  // namespace host_topologies_test
