// Tests what sessions are told of a job with a second world, of ranks that were spawned, and what
// they ask then.
#include "nla/pmi/rank_facts.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "pmi/protocol/pmi1/pmi1.h"
#include "pmi/protocol/pmi2/pmi2_session.h"

namespace rank_facts_test {

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

// Returns the requests of this rank's PMI-2 session, which sends one message.
template <class T>
T asked(Rank rank, const std::string& payload) {
  const Job job = grown_job();
  pmi::Pmi2Session session(facts_of(job, job.map.ranks_of(0), rank));
  for (const std::string& message : {std::string("cmd=fullinit;"), payload}) {
    const std::string length = std::to_string(message.size());
    session.receive(length + std::string(6 - length.size(), ' ') + message);
    if (auto request = session.next()) {
      return std::get<T>(std::get<Request>(*request));
    }
  }
  FAIL("the session has answered by itself");
  return {};
}

// Does the same for PMI-1 and a line.
template <class T>
T asked_by_line(Rank rank, const std::string& line) {
  const Job job = grown_job();
  pmi::Pmi1Session session(facts_of(job, job.map.ranks_of(0), rank));
  session.receive("cmd=init pmi_version=1 pmi_subversion=1\n" + line + "\n");
  const auto request = session.next();
  REQUIRE(request.has_value());
  if constexpr (std::is_same_v<T, pmi::LeftRequest>) {
    return std::get<T>(*request);
  } else {
    return std::get<T>(std::get<Request>(*request));
  }
}

std::string trace_text(const Request& request) {
  const char* name = trace_name(request);
  return name == nullptr ? "" : name;
}

}  // namespace

TEST_CASE("ranks of a spawned world have keys and fences of their own") {
  const std::string prefix = Job::key_prefix(1);
  CHECK(asked<ask::Put>(3, "cmd=kvs-put;key=k;value=v;").key == "k");
  const auto put = asked<ask::Put>(5, "cmd=kvs-put;key=k;value=v;");
  CHECK(put.key == prefix + "k");
  CHECK(put.value.view() == "v");
  const auto get = asked<ask::Get>(5, "cmd=kvs-get;key=k;");
  CHECK(get.key == put.key);
  CHECK_FALSE(get.wait);
  const auto get_node = asked<ask::GetNode>(4, "cmd=info-getnodeattr;key=k;wait=TRUE;");
  CHECK(get_node.wait);
  CHECK(get_node.key == put.key);
  CHECK(asked<ask::PutNode>(4, "cmd=info-putnodeattr;key=k;value=v;").key == put.key);

  CHECK(asked<ask::Collective>(2, "cmd=kvs-fence;").set == RankSet::run(0, 4));
  const auto fence = asked<ask::Collective>(4, "cmd=kvs-fence;");
  CHECK(fence.set == RankSet::run(4, 2));
  CHECK(fence.kind == CollectiveKind::fence);
}

TEST_CASE("ranks of a spawned world have keys and fences of their own by PMI-1, too") {
  const std::string kvs = "kvsname=" + grown_job().name_of_world(1);
  const std::string prefix = Job::key_prefix(1);
  CHECK(asked_by_line<ask::Put>(5, "cmd=put " + kvs + " key=k value=v").key == prefix + "k");
  CHECK(asked_by_line<ask::Get>(5, "cmd=get " + kvs + " key=k").key == prefix + "k");
  const auto fence = asked_by_line<ask::Collective>(5, "cmd=barrier_in");
  CHECK(fence.kind == CollectiveKind::fence);
  CHECK(fence.set == RankSet::run(4, 2));
  const auto group = asked_by_line<ask::Collective>(5, "cmd=barrier_in group=1:9");
  CHECK(group.kind == CollectiveKind::fence);
  CHECK(group.set == RankSet::single(5));
  CHECK(group.tag == 9);
  CHECK(asked_by_line<pmi::LeftRequest>(4, "cmd=scela_left rank=1").about == 5);
}

TEST_CASE("an exchange may overlap every fence of its world") {
  const auto exchange =
      asked<ask::Collective>(4, "cmd=ring;ring-count=1;ring-left=l;ring-right=r;");
  CHECK(exchange.kind == CollectiveKind::allgather);
  CHECK(exchange.set == RankSet::run(4, 2));
  CHECK(exchange.tag != asked<ask::Collective>(4, "cmd=kvs-fence;").tag);
  REQUIRE(exchange.parts.size() == 1);
  CHECK(exchange.parts[0].view() == std::string("1\0l\0r", 5));
  CHECK(trace_text(exchange) == "exchange");
}

TEST_CASE("names, spawns and ends reach the core as they were asked") {
  const auto publish = asked<ask::Name>(0, "cmd=name-publish;name=n;port=p;");
  CHECK(publish.act == NameAct::publish);
  CHECK(publish.name == "n");
  CHECK(publish.port == "p");
  CHECK(asked<ask::Name>(0, "cmd=name-lookup;name=n;").act == NameAct::lookup);
  CHECK(asked<ask::Name>(0, "cmd=name-unpublish;name=n;").act == NameAct::unpublish);
  const auto spawn = asked<ask::Spawn>(
      0,
      "cmd=spawn;ncmds=1;preputcount=1;ppkey0=a;ppval0=b;subcmd=./p;maxprocs=3;argc=1;argv0=-x;"
      "infokeycount=1;infokey0=wdir;infoval0=/tmp;");
  REQUIRE(spawn.request.programs.size() == 1);
  CHECK(spawn.request.programs[0].argv == std::vector<std::string>{"./p", "-x"});
  CHECK(spawn.request.programs[0].ranks == 3);
  CHECK(spawn.request.programs[0].infos == KeyValues{{"wdir", "/tmp"}});
  CHECK(spawn.request.preput == KeyValues{{"a", "b"}});
  asked<ask::Failed>(0, "cmd=info-getjobattr;key=PMI_dead_processes;");
  CHECK(asked<ask::Abort>(0, "cmd=abort;isworld=TRUE;msg=why;exitcode=7;").code == 7);
  CHECK(asked<ask::Violation>(0, "cmd=fullinit;").why ==
        "PMI-2: the rank sent fullinit a second time");
}

TEST_CASE("the trace has a name for each request that is answered") {
  CHECK(trace_text(ask::Put{}) == "put");
  CHECK(trace_text(ask::PutNode{}) == "put");
  CHECK(trace_text(ask::Get{}) == "get");
  CHECK(trace_text(ask::GetNode{}) == "get");
  CHECK(trace_text(ask::Failed{}) == "get");
  CHECK(trace_text(ask::Collective{CollectiveKind::fence}) == "fence");
  CHECK(trace_text(ask::Collective{CollectiveKind::allgather}) == "allgather");
  CHECK(trace_text(ask::Name{NameAct::publish, {}}) == "publish");
  CHECK(trace_text(ask::Name{NameAct::lookup, {}}) == "lookup");
  CHECK(trace_text(ask::Name{NameAct::unpublish, {}}) == "unpublish");
  CHECK(trace_text(ask::Spawn{}) == "spawn");
  CHECK(trace_text(ask::Abort{}).empty());
  CHECK(trace_text(ask::Violation{}).empty());
}

TEST_CASE("the facts of a spawned rank count from its world's first rank") {
  const Job job = grown_job();
  const RankSet own = job.map.ranks_of(0);
  const pmi::JobFacts first = facts_of(job, own, 1);
  CHECK(first.rank == 1);
  CHECK(first.size == 4);
  CHECK(first.node_ranks == RankSet::run(0, 2));
  CHECK(first.spawner.empty());
  CHECK(first.first_rank == 0);
  CHECK(first.key_prefix.empty());
  const pmi::JobFacts second = facts_of(job, own, 5);
  CHECK(second.rank == 1);
  CHECK(second.size == 2);
  CHECK(second.appnum == 0);
  CHECK(second.first_rank == 4);
  CHECK(second.key_prefix == Job::key_prefix(1));
  CHECK(second.node_ranks == RankSet::run(0, 2));
  CHECK(second.kvsname == job.name_of_world(1));
  CHECK(second.spawner == job.name_of_world(0));
  CHECK(second.kvsname != first.kvsname);
}

}  // namespace rank_facts_test
