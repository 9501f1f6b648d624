// Tests the translation of PMI requests for a job with a second world, of ranks that were spawned.
#include "nla/pmi/pmi_translation.h"

#include <catch2/catch.hpp>
#include <string>

namespace pmi_translation_test {

using namespace scela;
using namespace scela::nla;

namespace {

// Four ranks on two nodes; rank 1 has started two more, which are ranks 4 and 5.
Job grown_job() {
  Job job;
  job.id = "job-1";
  job.map = RankMap::from_blocks({{0, 2, 2}});
  job.apps = {App{{"./p"}, {}, "", "", RankSet::run(0, 4)}};
  World more;
  more.parent = 1;
  more.first = 4;
  more.map = RankMap::from_blocks({{0, 1, 2}});
  more.apps = {App{{"./q"}, {}, "", "", RankSet::run(4, 2)}};
  REQUIRE(job.add(more));
  return job;
}

template <class T>
T asked(Rank rank, pmi::Request request, const std::string& name) {
  const auto core = core_request(grown_job(), rank, request);
  REQUIRE(core.has_value());
  CHECK(std::string(core->name == nullptr ? "" : core->name) == name);
  return std::get<T>(core->request);
}

}  // namespace

TEST_CASE("ranks of a spawned world have keys and fences of their own") {
  const Job job = grown_job();
  CHECK(asked<ask::Put>(3, pmi::ask::Put{"k", "v"}, "put").key == "k");
  const auto put = asked<ask::Put>(5, pmi::ask::Put{"k", "v"}, "put");
  CHECK(put.key == Job::key_prefix(1) + "k");
  CHECK(put.value.view() == "v");
  const auto get = asked<ask::Get>(5, pmi::ask::Get{"k"}, "get");
  CHECK(get.key == put.key);
  CHECK_FALSE(get.wait);
  CHECK(asked<ask::GetNode>(4, pmi::ask::GetNode{"k", true}, "get").wait);
  CHECK(asked<ask::PutNode>(4, pmi::ask::PutNode{"k", "v"}, "put").key == put.key);

  CHECK(asked<ask::Collective>(2, pmi::ask::Fence{}, "fence").set == RankSet::run(0, 4));
  const auto fence = asked<ask::Collective>(4, pmi::ask::Fence{}, "fence");
  CHECK(fence.set == RankSet::run(4, 2));
  CHECK(fence.kind == CollectiveKind::fence);
  const auto group =
      asked<ask::Collective>(5, pmi::ask::GroupFence{RankSet::single(1), 9}, "fence");
  CHECK(group.set == RankSet::single(5));
  CHECK(group.tag == 9);
}

TEST_CASE("an exchange may overlap every fence of its world") {
  const auto exchange = asked<ask::Collective>(4, pmi::ask::Exchange{"b"}, "exchange");
  CHECK(exchange.kind == CollectiveKind::allgather);
  CHECK(exchange.set == RankSet::run(4, 2));
  CHECK(exchange.tag != asked<ask::Collective>(4, pmi::ask::Fence{}, "fence").tag);
  REQUIRE(exchange.parts.size() == 1);
  CHECK(exchange.parts[0].view() == "b");
}

TEST_CASE("names, spawns and ends reach the core as they were asked") {
  const auto publish = asked<ask::Name>(0, pmi::ask::Publish{"n", "p"}, "publish");
  CHECK(publish.act == NameAct::publish);
  CHECK(publish.name == "n");
  CHECK(publish.port == "p");
  CHECK(asked<ask::Name>(0, pmi::ask::Lookup{"n"}, "lookup").act == NameAct::lookup);
  CHECK(asked<ask::Name>(0, pmi::ask::Unpublish{"n"}, "unpublish").act == NameAct::unpublish);
  const auto spawn = asked<ask::Spawn>(
      0, pmi::ask::Spawn{{{{"./p", "-x"}, 3, {{"wdir", "/tmp"}}}}, {{"a", "b"}}}, "spawn");
  REQUIRE(spawn.request.programs.size() == 1);
  CHECK(spawn.request.programs[0].argv == std::vector<std::string>{"./p", "-x"});
  CHECK(spawn.request.programs[0].ranks == 3);
  CHECK(spawn.request.programs[0].infos == pmi::KeyValues{{"wdir", "/tmp"}});
  CHECK(spawn.request.preput == pmi::KeyValues{{"a", "b"}});
  asked<ask::Failed>(0, pmi::ask::Failed{}, "get");
  CHECK(asked<ask::Abort>(0, pmi::ask::Abort{7, "why"}, "").code == 7);
  CHECK(asked<ask::Violation>(0, pmi::ask::Violation{"why"}, "").why == "why");
}

TEST_CASE("requests for memory and about ranks that have left are not the core's") {
  const Job job = grown_job();
  for (pmi::Request request : {pmi::Request(pmi::ask::Segment{}), pmi::Request(pmi::ask::Ring{}),
                               pmi::Request(pmi::ask::Left{1})}) {
    CHECK_FALSE(core_request(job, 0, request).has_value());
  }
}

TEST_CASE("an operation of PMGR goes to all ranks, and to leave is a fence") {
  const CoreRequest left = core_request(grown_job(), 0, {pmi::Operation::leave, 0, {}});
  CHECK(std::string(left.name) == "fence");
  const CoreRequest scatter = core_request(grown_job(), 0, {pmi::Operation::scatter, 2, {}});
  const auto& asked = std::get<ask::Collective>(scatter.request);
  CHECK(asked.kind == CollectiveKind::scatter);
  CHECK(asked.root == 2);
  CHECK(asked.set == RankSet::run(0, 4));
}

TEST_CASE("responses become answers, of one part or of many") {
  Response response;
  response.found = true;
  response.parts = {Chunk(std::string("value"))};
  CHECK(answer_of(response).ok);
  CHECK(answer_of(response).found);
  CHECK(answer_of(response).value == "value");
  response.parts.push_back(Chunk(std::string("other")));
  CHECK(answer_of(response).value.empty());
  CHECK(answer_of(response).parts.size() == 2);

  CHECK(collected_of(response).outcome == pmi::Collected::Outcome::done);
  CHECK(collected_of(response).parts.size() == 2);
  response.ok = false;
  response.error = "rank 1 is at a fence";
  CHECK(collected_of(response).outcome == pmi::Collected::Outcome::failed);
  response.disagreement = true;
  CHECK(collected_of(response).outcome == pmi::Collected::Outcome::disagreed);
  CHECK(collected_of(response).why == "rank 1 is at a close");
  CHECK(answer_of(response).error == response.error);
}

TEST_CASE("the facts of a spawned rank count from its world's first rank") {
  const Job job = grown_job();
  const RankSet own = job.map.ranks_of(0);
  const pmi::JobFacts first = facts_of(job, own, 1);
  CHECK(first.rank == 1);
  CHECK(first.size == 4);
  CHECK(first.node_ranks == RankSet::run(0, 2));
  CHECK(first.spawner.empty());
  const pmi::JobFacts second = facts_of(job, own, 5);
  CHECK(second.rank == 1);
  CHECK(second.size == 2);
  CHECK(second.appnum == 0);
  CHECK(second.node_ranks == RankSet::run(0, 2));
  CHECK(second.kvsname == job.name_of_world(1));
  CHECK(second.spawner == job.name_of_world(0));
  CHECK(second.kvsname != first.kvsname);
}

}  // namespace pmi_translation_test
