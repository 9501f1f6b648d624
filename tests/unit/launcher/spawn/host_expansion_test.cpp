#include "launcher/spawn/host_expansion.h"

#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "tests/unit/launcher/plan/planned.h"

namespace host_expansion_test {

using namespace scela;

namespace {

// A plan. Its hosts are found and started when the test says so.
struct Growing {
  explicit Growing(std::vector<std::string> words) : plan(testing::plan(std::move(words))) {}
  HostExpansion::Hooks hooks() {
    HostExpansion::Hooks out;
    out.find = [this](const std::vector<std::string>& hosts) {
      for (const std::string& host : hosts)
        said += cat("find ", host, ";");
    };
    out.start = [this](const std::vector<std::string>& contacts) {
      for (const std::string& contact : contacts)
        said += cat("start ", contact, ";");
    };
    out.planned = [this](const nla::action::Spawn& asked, Result<nla::World> world) {
      if (world) {
        said += cat(asked.id, " on ", world->map.process_mapping(), ";");
        REQUIRE(plan.job.add(*world));
      } else {
        said += cat(asked.id, ": ", world.error().text(), ";");
      }
    };
    return out;
  }
  void ask(nla::RequestId id, std::uint32_t ranks, const char* hosts = "") {
    expansion.ask({0, id, {{{{"q"}, ranks, {{"host", hosts}}}}, {}}});
  }
  std::string take() { return std::exchange(said, {}); }

  Plan plan;
  RankSet failed;
  std::string said;
  HostExpansion expansion{plan, failed, 4, hooks()};
};

}  // namespace

TEST_CASE("a spawn waits for the agents that it needs, others do not wait for it") {
  Growing job({"--launch", "local", "-w", "a:3,b:1,c:1", "-n", "1", "./p"});
  job.ask(1, 3, "c,a");
  CHECK(job.take() == "find c;");
  job.ask(2, 1);
  CHECK(job.take() == "2 on (vector,(0,1,1));");
  job.ask(3, 1, "c");  // waits for what is under way
  CHECK(job.take().empty());
  job.expansion.found({{"c", "c!", {}}});
  CHECK(job.take() == "start c!;");
  job.ask(4, 1, "c");
  CHECK(job.take().empty());
  job.expansion.added({1, 2});
  CHECK(job.take() == "1 on (vector,(1,1,2),(0,1,1));3 on (vector,(1,1,1));4 on (vector,(1,1,1));");
}

TEST_CASE("a spawn is answered with the name or agent that failed, which is tried again by name") {
  Growing job({"--launch", "local", "-w", "a:1,b:1,c:1", "-n", "1", "./p"});
  job.ask(1, 2);
  CHECK(job.take() == "find b;find c;");
  job.expansion.found({{"b", "", "b: no such name"}, {"c", "c", {}}});
  CHECK(job.take() == "start c;1: b: no such name;");
  job.ask(2, 1, "c");
  CHECK(job.expansion.failed({1, nla::StartPhase::connect, "refused"}));
  job.failed.add(1);
  job.expansion.added({1, 2});
  CHECK(job.take() == "2: c: start its agent (connect): refused;");
  job.ask(3, 2);  // anywhere, so where there are agents
  CHECK(job.take() == "3 on (vector,(0,1,2));");
  job.ask(4, 1, "c");
  CHECK(job.take() == "find c;");
  job.expansion.found({{"c", "c", {}}});
  job.expansion.added({2, 3});
  CHECK(job.take() == "start c;4 on (vector,(2,1,1));");
  CHECK_FALSE(job.expansion.failed({2, nla::StartPhase::running, "lost"}));
}

TEST_CASE("a node that is lost before its spawn is planned is not planned with") {
  Growing job({"--sim-nodes", "3", "-n", "1", "./p"});
  job.ask(1, 2);
  job.expansion.found({{"sim1", "sim1", {}}, {"sim2", "sim2", {}}});
  CHECK(job.take() == "find sim1;find sim2;start sim1;start sim2;");
  CHECK(job.expansion.failed({1, nla::StartPhase::hello, "gone"}));
  job.failed.add(1);
  CHECK(job.expansion.failed({2, nla::StartPhase::hello, "gone"}));
  job.failed.add(2);
  job.expansion.added({1, 3});
  CHECK(job.take() == "1: sim1: start its agent (hello): gone; 1 more host failed too: sim2;");
}

TEST_CASE("a growing job gives the root children only up to a limit") {
  Growing job({"--sim-nodes", "9", "-n", "1", "./p"});
  for (std::uint32_t i = 1; i <= 4; ++i) {
    const std::string host = cat("sim", i);
    job.ask(i, 1, host.c_str());
    job.expansion.found({{host, host, {}}});
    job.expansion.added({i, i + 1});
  }
  job.take();
  job.ask(5, 1, "sim5");
  CHECK(job.take().find("--usize system") != std::string::npos);
}

}  // namespace host_expansion_test
