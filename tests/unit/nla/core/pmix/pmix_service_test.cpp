#include "nla/core/pmix/pmix_service.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "nla/core/kvs/names.h"
#include "tests/unit/nla/core/pmix/pmix_nodes.h"

namespace pmix_service_test {

using namespace scela;
using namespace scela::nla;
using pmix::Status;
using Nodes = scela::nla::testing::PmixNodes;
using scela::nla::testing::TreeHarness;

namespace {

RankSet set_of(std::initializer_list<Rank> ranks) {
  RankSet out;
  for (const Rank rank : ranks)
    out.add(rank);
  return out;
}

}  // namespace

TEST_CASE("a PMIx fence brings every node what all nodes have given, once all are there") {
  Nodes nodes(3, 2);
  const RankSet all = RankSet::run(0, 6);
  nodes.say(0, pmix::msg::Fence{1, all, "a"});
  nodes.say(2, pmix::msg::Fence{1, all, "c"});
  CHECK(nodes.answer_of(0, 1) == nullptr);
  nodes.say(1, pmix::msg::Fence{5, all, "b"});
  for (const auto& [node, id] : {std::pair{0U, 1U}, {1U, 5U}, {2U, 1U}}) {
    REQUIRE(nodes.answer_of(node, id) != nullptr);
    CHECK(nodes.answer_of(node, id)->status == Status::ok);
    CHECK(nodes.answer_of(node, id)->blob == "abc");
  }
}

TEST_CASE("PMIx fences of one set follow each other, those of other sets overlap them") {
  Nodes nodes(2, 2);
  const RankSet all = RankSet::run(0, 4);
  const RankSet some = set_of({0, 2});
  // The lowest ranks of both sets are the same on each node.
  nodes.say(0, pmix::msg::Fence{1, all, "a1"});
  nodes.say(0, pmix::msg::Fence{2, all, "a2"});
  nodes.say(0, pmix::msg::Fence{3, some, "as"});
  nodes.say(1, pmix::msg::Fence{1, some, "bs"});
  REQUIRE(nodes.answer_of(0, 3) != nullptr);
  CHECK(nodes.answer_of(0, 3)->blob == "asbs");
  CHECK(nodes.answer_of(0, 1) == nullptr);
  nodes.say(1, pmix::msg::Fence{2, all, "b1"});
  nodes.say(1, pmix::msg::Fence{3, all, "b2"});
  REQUIRE(nodes.answer_of(1, 3) != nullptr);
  CHECK(nodes.answer_of(0, 1)->blob == "a1b1");
  CHECK(nodes.answer_of(0, 2)->blob == "a2b2");
  CHECK(nodes.answer_of(1, 3)->blob == "a2b2");
}

TEST_CASE("PMIx fences with a name are apart, and each gets a number of its own") {
  Nodes nodes(2, 2);
  const RankSet all = RankSet::run(0, 4);
  const auto named = [&](pmix::Id id, std::string blob, std::string name) {
    return pmix::msg::Fence{id, all, std::move(blob), std::move(name)};
  };
  // Nodes need not begin in the same order.
  nodes.say(0, named(1, "a1", "+one"));
  nodes.say(0, named(2, "a2", "+two"));
  nodes.say(0, pmix::msg::Fence{3, all, "a"});
  nodes.say(1, named(1, "b2", "+two"));
  REQUIRE(nodes.answer_of(0, 2) != nullptr);
  CHECK(nodes.answer_of(0, 1) == nullptr);
  nodes.say(1, pmix::msg::Fence{2, all, "b"});
  nodes.say(1, named(3, "b1", "+one"));
  nodes.say(1, named(4, "b1", "+one"));  // once more, after it was over
  nodes.say(0, named(4, "a1", "+one"));
  CHECK(nodes.answer_of(0, 3)->blob == "ab");
  std::set<std::uint64_t> numbers;
  for (const auto& [here, there, blob] :
       {std::tuple{1U, 3U, "a1b1"}, {2U, 1U, "a2b2"}, {4U, 4U, "a1b1"}}) {
    REQUIRE(nodes.answer_of(0, here) != nullptr);
    REQUIRE(nodes.answer_of(1, there) != nullptr);
    CHECK(nodes.answer_of(0, here)->blob == nodes.answer_of(1, there)->blob);
    ByteReader in(nodes.answer_of(0, here)->blob);
    numbers.insert(in.u64());
    CHECK(in.rest() == blob);
  }
  CHECK(numbers.size() == 3);
}

TEST_CASE("PMIx fences and spawns of one rank that wait have a bound") {
  Nodes nodes(2, 1);
  const RankSet all = RankSet::run(0, 2);
  for (pmix::Id id = 1; id <= 65; ++id)
    nodes.say(0, pmix::msg::Fence{id, all, "a"});
  CHECK(nodes.answer_of(0, 65) == nullptr);  // one is under way
  nodes.say(0, pmix::msg::Fence{66, all, "a"});
  REQUIRE(nodes.answer_of(0, 66) != nullptr);
  CHECK(nodes.answer_of(0, 66)->status == Status::too_large);
  nodes.say(1, pmix::msg::Fence{1, all, "b"});
  REQUIRE(nodes.answer_of(0, 1) != nullptr);
  CHECK(nodes.answer_of(0, 1)->blob == "ab");
}

TEST_CASE("a member that has ended fails a PMIx fence on every node") {
  Nodes nodes(2, 2, OnFailure::wait);
  const RankSet all = RankSet::run(0, 4);
  // libpmix lets a fence pass without those that are gone.
  nodes.nodes[0].service->rank_ended(1);
  nodes.say(0, pmix::msg::Fence{1, all, "a"});
  nodes.say(1, pmix::msg::Fence{1, all, "b"});
  REQUIRE(nodes.answer_of(0, 1) != nullptr);
  REQUIRE(nodes.answer_of(1, 1) != nullptr);
  CHECK(nodes.answer_of(0, 1)->status == Status::failed);
  CHECK(nodes.answer_of(1, 1)->status == Status::failed);
  CHECK(nodes.answer_of(1, 1)->blob.empty());
}

TEST_CASE("a PMIx fence is answered if its rank here ends while others are awaited") {
  Nodes nodes(2, 1, OnFailure::wait);
  nodes.say(0, pmix::msg::Fence{1, RankSet::run(0, 2), "a"});
  nodes.nodes[0].service->rank_ended(0);
  REQUIRE(nodes.answer_of(0, 1) != nullptr);
  CHECK(nodes.answer_of(0, 1)->status == Status::failed);
}

TEST_CASE(
    "PMIx values are published, awaited, and gone with the first look-up if that was asked for") {
  Nodes nodes(3, 1);
  nodes.say(2, pmix::msg::Lookup{1, 2, "port", false});
  CHECK(nodes.answer_of(2, 1)->status == Status::not_found);
  nodes.say(2, pmix::msg::Lookup{2, 2, "port", true});
  CHECK(nodes.answer_of(2, 2) == nullptr);
  nodes.say(0, pmix::msg::Publish{1, 0, "port", pmix::Keep::job, "value"});
  CHECK(nodes.answer_of(0, 1)->status == Status::ok);
  REQUIRE(nodes.answer_of(2, 2) != nullptr);
  CHECK(nodes.answer_of(2, 2)->blob == "value");
  nodes.say(1, pmix::msg::Publish{1, 1, "port", pmix::Keep::job, "other"});
  CHECK(nodes.answer_of(1, 1)->status == Status::exists);
  nodes.say(1, pmix::msg::Unpublish{2, 1, "port"});
  CHECK(nodes.answer_of(1, 2)->status == Status::ok);

  nodes.say(0, pmix::msg::Publish{2, 0, "once", pmix::Keep::first_read, "first"});
  nodes.say(1, pmix::msg::Lookup{3, 1, "once", true});
  CHECK(nodes.answer_of(1, 3)->blob == "first");
  nodes.say(2, pmix::msg::Lookup{3, 2, "once", false});
  CHECK(nodes.answer_of(2, 3)->status == Status::not_found);
  nodes.say(
      0, pmix::msg::Publish{3, 0, "large", pmix::Keep::job, std::string(kMaxPublished + 1, 'x')});
  CHECK(nodes.answer_of(0, 3)->status == Status::too_large);
}

TEST_CASE("a PMIx look-up is given up with what the root says of it") {
  Nodes nodes(2, 1);
  nodes.say(0, pmix::msg::Lookup{1, 0, "port", true});
  nodes.say(0, pmix::msg::Lookup{2, 0, "port", true});
  nodes.say(0, pmix::msg::GiveUp{1});
  REQUIRE(nodes.answer_of(0, 1) != nullptr);
  CHECK(nodes.answer_of(0, 1)->status == Status::timed_out);
  CHECK(nodes.answer_of(0, 2) == nullptr);
  // The name is published while the request to give up is on its way.
  REQUIRE(nodes.nodes[1].service->receive(
      pmix::msg::Publish{1, 1, "port", pmix::Keep::first_read, "value"}));
  REQUIRE(nodes.nodes[0].service->receive(pmix::msg::GiveUp{2}));
  nodes.settle();
  REQUIRE(nodes.answer_of(0, 2) != nullptr);
  const bool there = nodes.answer_of(0, 2)->status == Status::ok;
  nodes.say(1, pmix::msg::Lookup{3, 1, "port", false});
  CHECK((nodes.answer_of(1, 3)->status == Status::ok) != there);
  const std::size_t told = nodes.nodes[0].told.size();
  nodes.say(0, pmix::msg::GiveUp{2});
  nodes.say(0, pmix::msg::GiveUp{9});
  CHECK(nodes.nodes[0].told.size() == told);
}

TEST_CASE("PMIx values are for a range, and go with their rank if that was asked for") {
  Nodes nodes(2, 2);
  const auto publish = [&](pmix::Id id, Rank rank, pmix::Keep keep, pmix::Range range) {
    nodes.say(rank / 2, pmix::msg::Publish{id, rank, "name", keep, cat("of ", rank), range});
    return nodes.answer_of(rank / 2, id)->status;
  };
  const auto found = [&](pmix::Id id, Rank rank) {
    nodes.say(rank / 2, pmix::msg::Lookup{id, rank, "name", false});
    return nodes.answer_of(rank / 2, id)->blob;
  };
  CHECK(publish(1, 0, pmix::Keep::job, pmix::Range::job) == Status::ok);
  CHECK(publish(2, 2, pmix::Keep::rank, pmix::Range::node) == Status::ok);
  CHECK(publish(3, 3, pmix::Keep::rank, pmix::Range::node) == Status::exists);
  CHECK(publish(4, 3, pmix::Keep::rank, pmix::Range::rank) == Status::ok);
  CHECK(found(5, 1) == "of 0");
  CHECK(found(6, 2) == "of 2");
  CHECK(found(7, 3) == "of 3");
  nodes.nodes[1].service->rank_ended(2);
  nodes.settle();
  CHECK(found(8, 3) == "of 3");
  nodes.say(1, pmix::msg::Unpublish{9, 3, "name", pmix::Range::rank});
  CHECK(found(10, 3) == "of 0");
  nodes.say(1, pmix::msg::Unpublish{11, 3, "name", pmix::Range::space});
  CHECK(nodes.answer_of(1, 11)->status == Status::not_found);
}

TEST_CASE("a value put on another node is fetched from its server") {
  Nodes nodes(3, 2);
  nodes.say(0, pmix::msg::DataWanted{7, 5, {}});
  const auto* asked = nodes.last<pmix::msg::DataAsked>(2);
  REQUIRE(asked != nullptr);
  CHECK(asked->rank == 5);
  CHECK(nodes.answer_of(0, 7) == nullptr);
  const std::string large(200000, 'x');
  nodes.say(2, pmix::msg::Data{asked->id, Status::ok, large});
  REQUIRE(nodes.answer_of(0, 7) != nullptr);
  CHECK(nodes.answer_of(0, 7)->blob == large);
  SECTION("a rank that is not in the job has put nothing") {
    nodes.say(0, pmix::msg::DataWanted{8, 6, {}});
    CHECK(nodes.answer_of(0, 8)->status == Status::not_found);
  }
  SECTION("nor has one that ends first") {
    nodes.say(0, pmix::msg::DataWanted{8, 4, {}});
    nodes.nodes[2].service->rank_ended(4);
    nodes.settle();
    REQUIRE(nodes.answer_of(0, 8) != nullptr);
    CHECK(nodes.answer_of(0, 8)->status == Status::not_found);
  }
  SECTION("nor one where all of that node have ended, before or after they were asked for") {
    nodes.say(0, pmix::msg::DataWanted{8, 4, {}});
    for (const Rank rank : {4u, 5u}) {
      nodes.exit(rank);
      nodes.run();
      nodes.nodes[2].service->rank_ended(rank);
    }
    nodes.settle();
    REQUIRE(nodes.answer_of(0, 8) != nullptr);
    CHECK(nodes.answer_of(0, 8)->status == Status::not_found);
    nodes.say(0, pmix::msg::DataWanted{9, 5, {}});
    REQUIRE(nodes.answer_of(0, 9) != nullptr);
    CHECK(nodes.answer_of(0, 9)->status == Status::not_found);
  }
  SECTION("nor one that has failed, which the job goes on without") {
    nodes.say(0, pmix::msg::DataWanted{8, 4, {}});
    nodes.nodes[0].service->peers_failed(RankSet::single(4));
    CHECK(nodes.answer_of(0, 8)->status == Status::not_found);
    nodes.say(0, pmix::msg::DataWanted{9, 4, {}});
    CHECK(nodes.answer_of(0, 9)->status == Status::not_found);
  }
}

TEST_CASE("a table of processes and an event go over the tree, also when ranks have ended") {
  Nodes nodes(3, 2, OnFailure::wait);
  nodes.say(2, pmix::msg::Connected{5});
  for (const Rank rank : {2u, 3u}) {
    nodes.exit(rank);
    nodes.run();
    nodes.nodes[1].service->rank_ended(rank);
    nodes.nodes[1].service->note_end({rank, 0, pmix::ProcessState::exited, 0});
  }
  nodes.say(0, pmix::msg::TableWanted{9, false});
  REQUIRE(nodes.answer_of(0, 9) != nullptr);
  const auto table = pmix::decode_processes(nodes.answer_of(0, 9)->blob);
  REQUIRE(table.has_value());
  REQUIRE(table->size() == 6);
  CHECK((*table)[2].state == pmix::ProcessState::exited);
  CHECK((*table)[5].rank == 5);
  nodes.say(1, pmix::msg::Notify{{}, "news"});
  for (const std::uint32_t node : {0u, 2u}) {
    const auto* event = nodes.last<pmix::msg::Event>(node);
    REQUIRE(event != nullptr);
    CHECK(event->blob == "news");
  }
}

TEST_CASE("a rank that has initialized PMIx is unfinished until it finalizes") {
  Nodes nodes(1, 2);
  PmixService& service = *nodes.nodes[0].service;
  CHECK_FALSE(service.unfinished(1));
  nodes.say(0, pmix::msg::Connected{1});
  CHECK(service.unfinished(1));
  nodes.say(0, pmix::msg::Finalized{3, 1});
  CHECK_FALSE(service.unfinished(1));
  CHECK(nodes.answer_of(0, 3)->status == Status::ok);
}

TEST_CASE("a rank that ends before it speaks PMIx has one stand-in, where others may wait for it") {
  using pmix::ProcessState;
  Job job;
  job.map = RankMap::from_blocks({{0, 1, 4}});
  job.hosts = {"a"};
  job.apps.push_back({{"program"}, {}, {}, {}, RankSet::run(0, 4)});
  job.on_failure = GENERATE(OnFailure::kill, OnFailure::wait);
  const RankSet own = RankSet::run(0, 4);
  std::vector<Rank> sent;
  PmixService::Callbacks sides;
  sides.tell = [](const pmix::Message&) {};
  sides.ask = [](Rank, RequestId, const Request&) {};
  sides.stand_in = [&](Rank rank) { sent.push_back(rank); };
  PmixService service(job, own, 0, sides);
  service.tell_worlds();
  own.for_each([&](Rank rank) { REQUIRE(service.receive(pmix::msg::Environment{rank, {}})); });
  REQUIRE(service.receive(pmix::msg::Ready{}));
  const auto end = [&](Rank rank, std::int32_t code) {
    service.rank_ended(rank);
    service.note_end({rank, 0, ProcessState::exited, code});
  };
  SECTION("also one that ended before the first of them came; never as a rank that has come") {
    end(2, 0);
    CHECK(sent.empty());
    REQUIRE(service.receive(pmix::msg::Connected{0}));
    CHECK(sent == std::vector<Rank>{2});
    REQUIRE(service.receive(pmix::msg::Connected{2}));
    CHECK_FALSE(service.unfinished(2));
    end(1, 0);
    CHECK(sent == std::vector<Rank>{2, 1});
  }
  SECTION("but none that had come, whether it has finalized or not") {
    for (const Rank rank : {0U, 1U, 2U})
      REQUIRE(service.receive(pmix::msg::Connected{rank}));
    REQUIRE(service.receive(pmix::msg::Finalized{1, 1}));
    end(1, 0);
    end(2, 0);
    CHECK(sent.empty());
  }
  SECTION("but where its failure ends the job, or no rank is left to wait") {
    REQUIRE(service.receive(pmix::msg::Connected{0}));
    end(1, 3);
    service.note_end({2, 0, ProcessState::not_started, 2});
    const std::vector<Rank> both = {1, 2};
    CHECK(sent == (job.on_failure == OnFailure::wait ? both : std::vector<Rank>{}));
    end(0, 0);
    end(3, 0);
    CHECK_FALSE(std::ranges::count(sent, 3U));
  }
}

TEST_CASE("an impossible message of a PMIx server is not believed") {
  const Job job = TreeHarness::job(2, 2);
  const RankSet own = RankSet::run(0, 2);
  const PmixService::Callbacks deaf = {[](const pmix::Message&) {},
                                       [](Rank, RequestId, const Request&) {}};
  PmixService service(job, own, 0, deaf);
  CHECK_FALSE(service.receive(pmix::msg::Ready{}));  // no world was told yet
  service.tell_worlds();
  CHECK_FALSE(service.receive(pmix::msg::Connected{0}));        // before it is ready
  CHECK_FALSE(service.receive(pmix::msg::Environment{2, {}}));  // of another node
  CHECK_FALSE(service.receive(pmix::msg::Ready{}));             // without its ranks' environments
  CHECK(service.receive(pmix::msg::Environment{0, {"A=1"}}));
  CHECK_FALSE(service.receive(pmix::msg::Environment{0, {}}));
  CHECK(service.receive(pmix::msg::Environment{1, {}}));
  CHECK(service.receive(pmix::msg::Ready{}));
  CHECK(service.environment(0) == std::vector<std::string>{"A=1"});
  CHECK_FALSE(service.receive(pmix::msg::Ready{}));
  CHECK_FALSE(service.receive(pmix::msg::Connected{2}));
  CHECK_FALSE(service.receive(pmix::msg::Fence{1, RankSet::run(2, 2), ""}));  // no rank of its own
  CHECK_FALSE(service.receive(pmix::msg::Fence{1, RankSet::run(0, 5), ""}));  // not of the job
  CHECK_FALSE(service.receive(pmix::msg::Abort{1, 3, 1, ""}));
  CHECK_FALSE(service.receive(pmix::msg::Publish{1, 2, "n", pmix::Keep::job, ""}));
  CHECK_FALSE(service.receive(pmix::msg::Setup{}));
  CHECK_FALSE(service.receive(pmix::msg::Event{"x"}));
  CHECK_FALSE(service.receive(pmix::msg::RanksFailed{own}));
  CHECK_FALSE(service.receive(pmix::msg::Log{1, 2, false, "x"}));
  CHECK_FALSE(service.receive(pmix::msg::World{}));
  CHECK_FALSE(service.receive(pmix::msg::Spawn{1, 2, {}}));  // of another node
  // without a program
  CHECK_FALSE(service.receive(pmix::msg::Spawn{1, 0, {{{}, {}, 1, "", "", ""}}}));
  PmixService other(job, own, 0, deaf);
  other.tell_worlds();
  CHECK(other.receive(pmix::msg::Failed{"no memory"}));
  CHECK(other.fault() == "no memory");
  CHECK_FALSE(other.receive(pmix::msg::Environment{0, {}}));
}

namespace {

pmix::msg::Spawn spawn_of(pmix::Id id, Rank rank, std::uint32_t ranks) {
  return {id, rank, {{{"./worker", "x"}, {"A=1"}, ranks, "/work", "n0", "/bin"}}};
}

}  // namespace

TEST_CASE("ranks that a PMIx rank asks for are a namespace that every server is told of") {
  Nodes nodes(3, 1);
  CHECK(nodes.last<pmix::msg::World>(0)->nspace == nodes.work.id);
  CHECK_FALSE(nodes.last<pmix::msg::World>(0)->parent);
  nodes.say(1, spawn_of(7, 1, 2));
  REQUIRE(nodes.answer_of(1, 7) != nullptr);
  CHECK(nodes.answer_of(1, 7)->status == Status::ok);
  CHECK(nodes.answer_of(1, 7)->blob == nodes.work.id + ".1");
  for (std::uint32_t node = 0; node < 3; ++node) {
    const pmix::msg::World* world = nullptr;
    for (const pmix::Message& message : nodes.nodes[node].told) {
      if (const auto* one = std::get_if<pmix::msg::World>(&message)) world = one;
    }
    REQUIRE(world != nullptr);
    CHECK(world->nspace == nodes.work.id + ".1");
    CHECK(world->first == 3);
    CHECK(world->parent == Rank{1});
    CHECK(world->neighbours == 1);
    REQUIRE(world->programs.size() == 1);
    CHECK(world->programs.front().ranks == RankSet::run(3, 2));
    CHECK(nodes.nodes[node].service->ready_worlds() == 2);
  }
}

TEST_CASE("the hints of a PMIx spawn reach the plan") {
  const Job job = TreeHarness::job(1, 1);
  const RankSet own = RankSet::run(0, 1);
  std::vector<Request> asked;
  std::vector<pmix::Message> told;
  PmixService service(job, own, 0,
                      {[&](const pmix::Message& message) { told.push_back(message); },
                       [&](Rank, RequestId, const Request& request) { asked.push_back(request); }});
  service.tell_worlds();
  REQUIRE(service.receive(pmix::msg::Environment{0, {}}));
  REQUIRE(service.receive(pmix::msg::Ready{}));
  REQUIRE(service.receive(spawn_of(5, 0, 2)));
  REQUIRE(asked.size() == 1);
  const SpawnRequest& request = std::get<ask::Spawn>(asked.front()).request;
  REQUIRE(request.programs.size() == 1);
  CHECK(request.programs.front() ==
        SpawnProgram{
            {"./worker", "x"}, 2, {{"host", "n0"}, {"wdir", "/work"}, {"path", "/bin"}}, {"A=1"}});
  SECTION("and a refusal reaches the rank") {
    service.reply({0, 1, Response{false, "no room", false, {Chunk(std::string("1,1"))}}});
    CHECK((told.back() == pmix::Message(pmix::msg::Answer{5, Status::not_spawned, {}})));
  }
}

TEST_CASE("the ranks that a debugger stops in a PMIx spawn reach the plan, and are let go here") {
  const Job job = TreeHarness::job(2, 2);
  const RankSet own = RankSet::run(2, 2);
  std::vector<Request> asked;
  std::vector<pmix::Message> told;
  RankSet released;
  PmixService::Callbacks sides{
      [&](const pmix::Message& message) { told.push_back(message); },
      [&](Rank, RequestId, const Request& request) { asked.push_back(request); }};
  sides.release = [&](const RankSet& ranks) { released.add(ranks); };
  PmixService service(job, own, 1, sides);
  service.tell_worlds();
  for (const Rank rank : {2u, 3u})
    REQUIRE(service.receive(pmix::msg::Environment{rank, {}}));
  REQUIRE(service.receive(pmix::msg::Ready{}));
  pmix::msg::Spawn spawn = spawn_of(5, 2, 2);
  spawn.stops = {RankSet::single(1), RankSet::run(0, 2)};
  REQUIRE(service.receive(spawn));
  REQUIRE(asked.size() == 1);
  CHECK(std::get<ask::Spawn>(asked.front()).request.stops == spawn.stops);
  service.rank_stopped(3);
  CHECK((told.back() == pmix::Message(pmix::msg::Stopped{3})));
  CHECK(service.receive(pmix::msg::Release{RankSet::single(3)}));
  CHECK(released == RankSet::single(3));
  CHECK_FALSE(service.receive(pmix::msg::Release{RankSet::run(1, 2)}));  // one is of another node
  CHECK_FALSE(service.receive(pmix::msg::Stopped{3}));
  CHECK(released == RankSet::single(3));
}

TEST_CASE("PMIx sets may have ranks of several namespaces") {
  Nodes nodes(2, 1);
  nodes.say(0, spawn_of(1, 0, 2));  // rank 2 on node 0, 3 on node 1
  REQUIRE(nodes.work.map.size() == 4);
  SECTION("a fence of both takes one of each node") {
    const RankSet all = RankSet::run(0, 4);
    nodes.say(0, pmix::msg::Fence{2, all, "a"});
    CHECK(nodes.answer_of(0, 2) == nullptr);
    nodes.say(1, pmix::msg::Fence{2, all, "b"});
    REQUIRE(nodes.answer_of(0, 2) != nullptr);
    CHECK(nodes.answer_of(0, 2)->blob == "ab");
    CHECK(nodes.answer_of(1, 2)->blob == "ab");
  }
  SECTION("also where each node has ranks of one only") {
    const RankSet pair = set_of({0, 3});
    nodes.say(0, pmix::msg::Fence{2, pair, "a"});
    nodes.say(1, pmix::msg::Fence{2, pair, "b"});
    REQUIRE(nodes.answer_of(1, 2) != nullptr);
    CHECK(nodes.answer_of(1, 2)->blob == "ab");
  }
  SECTION("a rank of one finds what a rank of the other has put") {
    nodes.say(0, pmix::msg::DataWanted{7, 3, {}});
    const auto* asked = nodes.last<pmix::msg::DataAsked>(1);
    REQUIRE(asked != nullptr);
    CHECK(asked->rank == 3);
    nodes.say(1, pmix::msg::Data{asked->id, Status::ok, "card"});
    REQUIRE(nodes.answer_of(0, 7) != nullptr);
    CHECK(nodes.answer_of(0, 7)->blob == "card");
  }
  SECTION("and a name that one publishes is found by the other") {
    nodes.say(1, pmix::msg::Publish{2, 3, "port", pmix::Keep::job, "here"});
    nodes.say(0, pmix::msg::Lookup{2, 0, "port", true});
    REQUIRE(nodes.answer_of(0, 2) != nullptr);
    CHECK(nodes.answer_of(0, 2)->blob == "here");
  }
  SECTION("a spawned rank is unfinished until it finalizes") {
    nodes.say(1, pmix::msg::Connected{3});
    CHECK(nodes.nodes[1].service->unfinished(3));
    nodes.say(1, pmix::msg::Finalized{2, 3});
    CHECK_FALSE(nodes.nodes[1].service->unfinished(3));
  }
}

TEST_CASE("a request for a rank waits until the node's server knows the rank's namespace") {
  Nodes nodes(2, 1);
  // Node 1 is slower than others: its server has been told, and has not answered.
  PmixService slow(
      nodes.work, nodes.nodes[1].own, 1,
      {[&](pmix::Message message) { nodes.nodes[1].told.push_back(std::move(message)); },
       [&](Rank rank, RequestId id, Request request) {
         nodes.post(nodes.agent_of(1), event::Asked{rank, id, std::move(request)});
       }});
  slow.tell_worlds();
  nodes.nodes[0].service->receive(pmix::msg::DataWanted{7, 1, {}});
  nodes.run();
  for (const auto& one : nodes.programs.answers)
    slow.reply({one.rank, one.id, one.response});
  CHECK(nodes.last<pmix::msg::DataAsked>(1) == nullptr);
  REQUIRE(slow.receive(pmix::msg::Environment{1, {}}));
  REQUIRE(slow.receive(pmix::msg::Ready{}));
  REQUIRE(nodes.last<pmix::msg::DataAsked>(1) != nullptr);
}

TEST_CASE("a node that asks without end is told that there is nothing") {
  Nodes nodes(2, 2);
  for (pmix::Id id = 1; id <= 100; ++id)
    nodes.say(0, pmix::msg::DataWanted{id, 2 + static_cast<Rank>(id % 2), {}});
  const auto asked = [&] {
    return std::ranges::count_if(nodes.nodes[1].told, [](const pmix::Message& message) {
      return std::holds_alternative<pmix::msg::DataAsked>(message);
    });
  };
  // This node has two ranks, and they may ask twice for each of the other node's two.
  CHECK(asked() == 8);
  REQUIRE(nodes.answer_of(0, 100) != nullptr);
  CHECK(nodes.answer_of(0, 100)->status == Status::not_found);
  CHECK(nodes.answer_of(0, 1) == nullptr);
  // A question that was answered leaves room for another.
  nodes.put(1, "blob");
  CHECK(nodes.answer_of(0, 1)->blob == "blob");
  nodes.say(0, pmix::msg::DataWanted{200, 2, {}});
  CHECK(asked() == 9);
}

TEST_CASE(
    "a get that has waited for long enough is withdrawn everywhere, and leaves room for others") {
  Nodes nodes(2, 1);
  for (pmix::Id id = 1; id <= 100; ++id) {
    nodes.say(0, pmix::msg::DataWanted{id, 1, "late"});
    const auto* asked = nodes.last<pmix::msg::DataAsked>(1);
    REQUIRE(asked != nullptr);
    CHECK(asked->key == "late");
    const pmix::Id there = asked->id;
    nodes.say(0, pmix::msg::GiveUp{id});
    REQUIRE(nodes.answer_of(0, id) != nullptr);
    CHECK(nodes.answer_of(0, id)->status == Status::timed_out);
    const auto* no_more = nodes.last<pmix::msg::DataNoMore>(1);
    REQUIRE(no_more != nullptr);
    CHECK(no_more->id == there);
  }
}

TEST_CASE("a question that is asked again after a loss is the same question") {
  Nodes nodes(2, 1);
  nodes.say(0, pmix::msg::DataWanted{1, 1, "late"});
  for (int i = 0; i < 20; ++i) {
    nodes.nodes[0].service->reconnected(RankSet::single(1));
    nodes.settle();
  }
  const auto asked = std::ranges::count_if(nodes.nodes[1].told, [](const pmix::Message& message) {
    return std::holds_alternative<pmix::msg::DataAsked>(message);
  });
  CHECK(asked == 1);
  CHECK(nodes.answer_of(0, 1) == nullptr);
  nodes.put(1, "blob");
  REQUIRE(nodes.answer_of(0, 1) != nullptr);
  CHECK(nodes.answer_of(0, 1)->blob == "blob");
}

TEST_CASE("requests of a lost node are forgotten") {
  Nodes nodes(2, 1);
  nodes.say(0, pmix::msg::DataWanted{1, 1, "late"});
  nodes.nodes[1].service->nodes_lost(RankSet::single(0));
  CHECK(nodes.last<pmix::msg::DataNoMore>(1) != nullptr);
}

}  // namespace pmix_service_test
