#include "nla/core/wire/job.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "tests/unit/nla/core/wire/samples.h"

namespace job_test {

using namespace scela;
using namespace scela::nla;

namespace {

Job small_job() {
  Job job;
  job.id = "job-1";
  job.map = RankMap::from_blocks({{0, 2, 2}});
  job.apps = {App{{"./p", "-x"}, {"A=1"}, "", "", RankSet::run(0, 4)}};
  job.env = {"HOME=/root"};
  job.wdir = "/tmp";
  job.stdin_ranks = RankSet::single(0);
  return job;
}

// Returns what decode_job says of small_job() after `change`. The text is empty if the job is
// accepted.
std::string fault(const std::function<void(Job&)>& change) {
  Job job = small_job();
  change(job);
  const auto got = decode_job(encode(job));
  if (got) {
    CHECK(*got == job);
    return "";
  }
  CHECK(got.error().kind == ErrorKind::protocol);
  CHECK_FALSE(got.error().why.empty());
  return got.error().why;
}

std::string fault_of_blocks(const std::vector<RankMap::Block>& blocks) {
  return fault([&](Job& job) { job.map = RankMap::from_blocks(blocks); });
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a job comes back as it was sent, the same bytes every time") {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const Job job = samples::job(random);
    const std::string bytes = encode(job);
    const auto got = decode_job(bytes);
    REQUIRE(got.has_value());
    REQUIRE(*got == job);
    REQUIRE(encode(*got) == bytes);
  }
}

TEST_CASE("every truncation of a job is an error, and so are bytes behind it") {
  Random random(2);
  for (int round = 0; round < 10; ++round) {
    const std::string bytes = encode(samples::job(random));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      REQUIRE_FALSE(decode_job(std::string_view(bytes).substr(0, length)).has_value());
    }
    const auto longer = decode_job(bytes + '\0');
    REQUIRE_FALSE(longer.has_value());
    CHECK(mentions(longer.error().why, "1 bytes follow"));
  }
}

TEST_CASE("random and damaged jobs are refused or whole") {
  Random random(3);
  for (int round = 0; round < 30000; ++round) {
    std::string bytes =
        random.chance(1, 4) ? samples::text(random, 80) : encode(samples::job(random));
    for (std::uint64_t i = random.between(1, 4); i > 0 && !bytes.empty(); --i) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    }
    const auto got = decode_job(bytes);
    if (!got) continue;
    for (Rank rank = 0; rank < got->map.size() && rank < 1000; ++rank) {
      REQUIRE(got->app_of(rank) < got->apps.size());
      REQUIRE(got->map.node_of(rank).has_value());
    }
    REQUIRE(decode_job(encode(*got)).value() == *got);
  }
}

TEST_CASE("a rank's application is the one that has it among its ranks") {
  Job job = small_job();
  job.apps = {App{{"./even"}, {}, "", "", RankSet::parse("0,2").value()},
              App{{"./odd"}, {}, "", "", RankSet::parse("1,3").value()}};
  CHECK(job.app_of(0) == 0);
  CHECK(job.app_of(1) == 1);
  CHECK(job.app_of(3) == 1);
  CHECK(job.app_of(4) == 2);  // apps.size(): not in the job
  CHECK(decode_job(encode(job)).value().app_of(2) == 0);
}

TEST_CASE("applications must partition the job's ranks") {
  CHECK(fault([](Job&) {}).empty());
  CHECK(mentions(fault([](Job& job) { job.apps.clear(); }), "no application"));
  CHECK(mentions(fault([](Job& job) { job.apps[0].ranks = RankSet::run(0, 3); }), "0-2"));
  CHECK(mentions(fault([](Job& job) { job.apps[0].ranks = RankSet::run(0, 5); }), "0-4"));
  CHECK(mentions(fault([](Job& job) { job.apps.push_back(job.apps[0]); }), "share a rank"));
  CHECK(mentions(fault([](Job& job) {
                   job.apps.push_back(job.apps[0]);
                   job.apps[1].ranks = RankSet();
                 }),
                 "no ranks"));
}

TEST_CASE("a rank map with too large a product or sum is an error, not a wrap") {
  CHECK(mentions(fault_of_blocks({}), "no ranks"));
  CHECK(mentions(fault_of_blocks({{0, 2, 2}, {2, 0, 1}}), "empty block"));
  CHECK(mentions(fault_of_blocks({{0, 2, 2}, {2, 1, 0}}), "empty block"));
  // 65536 * 65536 is 0 in 32 bits: the four ranks of the first block would be all.
  CHECK(mentions(fault_of_blocks({{0, 2, 2}, {2, 65536, 65536}}), "more than"));
  CHECK(mentions(fault_of_blocks({{0, 0xffffffff, 0xffffffff}}), "more than"));
  CHECK(mentions(fault_of_blocks({{0, 1u << 16, 1u << 15}, {0, 1, 1}}), "more than"));
  CHECK(mentions(fault_of_blocks({{0xfffffff0, 0x20, 1}}), "node 4294967280"));
  CHECK(mentions(fault([](Job& job) {
                   job.map = RankMap::from_blocks({{0, 1u << 16, 1u << 15}});
                   job.apps[0].ranks = RankSet::run(0, 1u << 31);
                 }),
                 ""));  // 2^31 ranks are the most there can be
}

TEST_CASE("a program without a name and bytes that exec would cut are errors") {
  const std::string nul("a\0b", 3);
  CHECK(mentions(fault([](Job& job) { job.apps[0].argv.clear(); }), "no program"));
  CHECK(mentions(fault([](Job& job) { job.apps[0].argv[0] = ""; }), "no program"));
  CHECK(fault([](Job& job) { job.apps[0].argv[1] = ""; }).empty());
  CHECK(mentions(fault([&](Job& job) { job.apps[0].argv[1] = nul; }), "NUL"));
  CHECK(mentions(fault([&](Job& job) { job.apps[0].env[0] = nul; }), "NUL"));
  CHECK(mentions(fault([&](Job& job) { job.apps[0].wdir = nul; }), "NUL"));
  CHECK(mentions(fault([&](Job& job) { job.apps[0].path = nul; }), "NUL"));
  CHECK(mentions(fault([&](Job& job) { job.env[0] = nul; }), "NUL"));
  CHECK(mentions(fault([&](Job& job) { job.training.master.address = nul; }), "NUL"));
  CHECK(mentions(fault([&](Job& job) { job.training.node_list = nul; }), "NUL"));
  CHECK(mentions(fault([&](Job& job) { job.training.run_id = nul; }), "NUL"));
  CHECK(mentions(fault([&](Job& job) { job.wdir = nul; }), "NUL"));
}

TEST_CASE("an identifier that could leave its directory is an error") {
  for (const std::string id : {"", ".", "..", ".hidden", "a/b", "../x", "a b", "a\n"}) {
    CHECK(mentions(fault([&](Job& job) { job.id = id; }), "identifier"));
  }
  CHECK(mentions(fault([](Job& job) { job.id = std::string(129, 'a'); }), "identifier"));
  CHECK(fault([](Job& job) { job.id = std::string(128, 'a'); }).empty());
  CHECK(fault([](Job& job) { job.id = "kvs_1.2-Z"; }).empty());
}

TEST_CASE("standard input for a rank that is not there is an error") {
  CHECK(mentions(fault([](Job& job) { job.stdin_ranks = RankSet::single(4); }), "ranks 4"));
  CHECK(fault([](Job& job) { job.stdin_ranks = RankSet::run(0, 4); }).empty());
  CHECK(fault([](Job& job) { job.stdin_ranks = RankSet(); }).empty());
}

TEST_CASE("a label of lines has known parts only, and no end of a line") {
  CHECK(fault([](Job& job) { job.label = "[%r@%h] "; }).empty());
  CHECK(mentions(fault([](Job& job) { job.label = "%q"; }), "'%q' means nothing"));
  CHECK(mentions(fault([](Job& job) { job.label = "%r\n"; }), "control character"));
  CHECK(mentions(fault([](Job& job) { job.label = std::string(300, 'x'); }), "more than 256"));
}

TEST_CASE("only ranks of a world can be stopped for a debugger in it") {
  CHECK(mentions(fault([](Job& job) { job.stops.on_exec = RankSet::single(4); }), "ranks 4 of 4"));
  CHECK(mentions(fault([](Job& job) { job.stops.in_init = RankSet::run(3, 2); }), "stopped"));
  CHECK(fault([](Job& job) { job.stops = {RankSet::run(0, 4), RankSet::single(3)}; }).empty());
  World more;
  more.first = 4;
  more.map = RankMap::from_blocks({{0, 1, 2}});
  more.apps = {App{{"./q"}, {}, "", "", RankSet::run(4, 2)}};
  more.stops.in_init = RankSet::run(1, 2);
  Job job = small_job();
  CHECK_FALSE(job.add(more).has_value());
  more.stops.in_init = RankSet::single(1);
  CHECK(job.add(more).has_value());
  CHECK(decode_world(encode(more)).value() == more);
}

TEST_CASE("a text for a shell is one word") {
  CHECK(mentions(fault([](Job& job) {
                   job.apps[0].argv = {"a", "b"};
                   job.apps[0].by_shell = true;
                 }),
                 "several texts for a shell"));
  CHECK(fault([](Job& job) {
          job.apps[0].argv = {"a b"};
          job.apps[0].by_shell = true;
        }).empty());
}

TEST_CASE("kinds of a job outside their range are errors") {
  const std::string bytes = encode(small_job());
  // From the end: the debugger (none) and its ranks, the terminal's modes (3) and size (8), input
  // by rank, the terminal's ranks, ahead, plain output, timestamps, label, host timeout, once per
  // host, trace, cache limit, cache policy, grace (2000: two bytes), universe (4), pmi, chosen
  // cores (none), placement (memory, report, overload, cpus, order, bind, map), on-failure.
  const std::size_t end = bytes.size() - 24;
  const auto accepted = [&](std::size_t at, char value) {
    std::string changed = bytes;
    changed[at] = value;
    return decode_job(changed).has_value();
  };
  CHECK(accepted(end + 3, 1));
  CHECK_FALSE(accepted(end + 3, 2));
  CHECK(accepted(end - 1, 1));
  CHECK_FALSE(accepted(end - 1, 2));
  CHECK(accepted(end - 3, 4));
  CHECK_FALSE(accepted(end - 3, 5));
  CHECK(accepted(end - 10, 5));
  CHECK_FALSE(accepted(end - 10, 6));
  CHECK(accepted(end - 12, 3));
  CHECK_FALSE(accepted(end - 12, 4));
  CHECK_FALSE(accepted(end - 15, 0));
  for (const std::size_t before : {16u, 17u, 18u}) {
    CHECK(accepted(end - before, 5));
    CHECK_FALSE(accepted(end - before, 6));
  }
  CHECK(accepted(end - 19, 1));
  CHECK_FALSE(accepted(end - 19, 2));
}

TEST_CASE("the universe is never smaller than the job, and may be without a limit") {
  Job job = small_job();
  job.universe = 1;
  CHECK(job.universe_size() == job.map.size());
  job.universe = 1000;
  CHECK(job.universe_size() == 1000);
  job.universe = -7;
  CHECK(job.universe_size() == -1);
}

TEST_CASE("one rank of the job has a terminal, or none") {
  CHECK(fault([](Job& job) { job.terminal_ranks = RankSet::single(3); }).empty());
  CHECK(mentions(fault([](Job& job) { job.terminal_ranks = RankSet::single(4); }), "terminal"));
  CHECK(mentions(fault([](Job& job) { job.terminal_ranks = RankSet::run(0, 2); }), "terminal"));
  CHECK(fault([](Job& job) {
          job.window = {50, 132, 1000, 800};
          job.modes = {false, true, "\x03\x1c"};
        }).empty());
}

TEST_CASE("several ranks have terminals only if each gets its own input") {
  const auto with = [](Rank count, bool by_rank, Rank readers) {
    return fault([&](Job& job) {
      job.map.append(0, 100);
      job.apps.front().ranks.add(RankSet::run(4, 100));
      job.terminal_ranks = RankSet::run(0, count);
      job.stdin_ranks = RankSet::run(0, readers);
      job.input_by_rank = by_rank;
    });
  };
  CHECK(with(64, true, 64).empty());
  CHECK(mentions(with(65, true, 65), "terminal"));
  CHECK(mentions(with(2, false, 2), "terminal"));
  CHECK(mentions(with(2, true, 3), "input by rank"));
}

TEST_CASE("ranks under a debugger are ranks of the job, and the debugger has a name") {
  const auto with = [](RankSet ranks, std::vector<std::string> words) {
    return fault([&](Job& job) {
      job.debugged_ranks = std::move(ranks);
      job.debugger = std::move(words);
    });
  };
  CHECK(with(RankSet::run(1, 3), {"gdb", "-q"}).empty());
  CHECK(mentions(with(RankSet::single(4), {"gdb"}), "debugged"));
  CHECK(mentions(with(RankSet::single(0), {}), "without a name"));
  CHECK(mentions(with(RankSet::single(0), {""}), "without a name"));
  CHECK(mentions(with(RankSet::single(0), {"gdb", std::string("a\0b", 3)}), "NUL"));
}

TEST_CASE("a job that goes on without lost agents does not spread its pairs over them") {
  const auto with = [](OnFailure on_failure, cache::PolicyKind policy) {
    return fault([&](Job& job) {
      job.on_failure = on_failure;
      job.cache_policy = policy;
    });
  };
  CHECK(mentions(with(OnFailure::wait, cache::PolicyKind::dht), "goes on without agents"));
  CHECK(with(OnFailure::kill, cache::PolicyKind::dht).empty());
  CHECK(with(OnFailure::wait, cache::PolicyKind::hcmab_lru).empty());
}

namespace {

World world_after(const Job& job, const std::vector<RankMap::Block>& blocks) {
  World world;
  world.first = job.map.size();
  world.parent = 1;
  world.map = RankMap::from_blocks(blocks);
  world.apps = {App{{"./q"}, {}, "/w", "", RankSet::run(world.first, world.map.size())}};
  world.preput = {{"k", "v"}};
  return world;
}

}  // namespace

TEST_CASE("a world comes back as it was sent, and what is no world is refused") {
  const World world = world_after(small_job(), {{1, 1, 2}, {0, 1, 1}});
  const std::string bytes = encode(world);
  const auto got = decode_world(bytes);
  REQUIRE(got.has_value());
  CHECK(*got == world);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_FALSE(decode_world(std::string_view(bytes).substr(0, length)));
  CHECK_FALSE(decode_world(bytes + "x"));
}

TEST_CASE("names of hosts that came later are known once, however often they are told") {
  Job job = small_job();
  job.hosts = {"a", "b"};
  World world = world_after(job, {{2, 1, 1}});
  world.first_host = 2;
  world.hosts = {"c"};
  REQUIRE(job.add(world));
  CHECK(job.hosts == std::vector<std::string>{"a", "b", "c"});
  world.first = 5;
  world.apps = {job.apps.back()};
  world.apps.front().ranks = RankSet::single(5);
  world.hosts = {"c", "d"};
  REQUIRE(job.add(decode_world(encode(world)).value()));
  CHECK(job.hosts == std::vector<std::string>{"a", "b", "c", "d"});
}

TEST_CASE("a world follows the ranks of the job, and both keep their own facts") {
  Job job = small_job();  // two ranks on each of two nodes
  const std::string first_mapping = job.map.process_mapping();
  REQUIRE(job.add(world_after(job, {{1, 1, 2}})));
  REQUIRE(job.add(world_after(job, {{0, 2, 2}})));
  CHECK(job.map.size() == 10);
  CHECK(job.map.ranks_of(1).text() == "2-5,8-9");
  CHECK(job.world_of(3) == 0);
  CHECK(job.world_of(4) == 1);
  CHECK(job.world_of(9) == 2);
  CHECK(job.ranks_of_world(0) == RankSet::run(0, 4));
  CHECK(job.ranks_of_world(1) == RankSet::run(4, 2));
  CHECK(job.map_of_world(0).process_mapping() == first_mapping);
  CHECK(job.map_of_world(2).process_mapping() == "(vector,(0,2,2))");
  CHECK(job.app_of(9) - job.first_app_of_world(2) == 0);
  CHECK(job.name_of_world(0) == "job-1");
  CHECK(job.name_of_world(2) == "job-1.2");
}

TEST_CASE("a set of ranks is everywhere if it is a whole world on all nodes that have ranks") {
  Job job = small_job();
  CHECK(job.is_everywhere(RankSet::run(0, 4)));
  CHECK_FALSE(job.is_everywhere(RankSet::run(0, 3)));
  REQUIRE(job.add(world_after(job, {{1, 1, 2}})));
  CHECK(job.is_everywhere(RankSet::run(0, 4)));
  CHECK_FALSE(job.is_everywhere(RankSet::run(4, 2)));
  REQUIRE(job.add(world_after(job, {{0, 3, 1}})));
  CHECK_FALSE(job.is_everywhere(RankSet::run(0, 4)));
  CHECK(job.is_everywhere(RankSet::run(6, 3)));
  CHECK_FALSE(job.is_everywhere(RankSet::run(5, 4)));
}

TEST_CASE("a world that does not follow the job's ranks is not added") {
  Job job = small_job();
  World world = world_after(job, {{0, 1, 1}});
  ++world.first;
  CHECK_FALSE(job.add(world));
  world = world_after(job, {{0, 1, 1}});
  world.apps[0].ranks = RankSet::single(0);
  CHECK_FALSE(job.add(world));
  world = world_after(job, {{0, 1, 1}});
  world.apps[0].argv.clear();
  CHECK_FALSE(job.add(world));
  CHECK(job == small_job());
}

}  // namespace job_test
